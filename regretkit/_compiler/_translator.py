"""Translate functions to LLVM's language: one method for each kind of statement and expression."""

import ast
import builtins
import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from attrs import define, evolve, field

from regretkit._compiler._functions import (
    INTRINSICS,
    clamped,
    floor_divide,
    function_of,
    remainder,
)
from regretkit._compiler._source import (
    Definition,
    definition_of,
    lanes,
    prefetch,
    source,
    width,
)
from regretkit._compiler._values import (
    LANES,
    NUMBERS,
    SYMBOL,
    TRUTHS,
    TYPES,
    UINT64,
    VECTORS,
    Array,
    CannotCompileError,
    Draw,
    Generator,
    NotInLanesError,
    Number,
    Range,
    common_kind,
    element_type,
    is_tuple,
    kinds_of,
    leaves,
    rebuilt,
    wider_kind,
)


@define(eq=False)
class Scope:
    """A function during its translation."""

    key: object
    function: Any
    definition: Definition
    values: dict[str, Any] = field(factory=dict)
    """Names that have a single value."""
    variables: dict[str, "Variable"] = field(factory=dict)
    end: str = ""
    """The label of the function's end, if it has an early return."""
    result: Any = None
    """The result, or with early returns its variable."""
    loops: list[tuple[str, str]] = field(factory=list)
    """The targets of ``break`` and ``continue``."""

    @property
    def within_bounds(self) -> bool:
        """Whether indices are never negative, and slices never too long."""
        return bool(self.function.__globals__.get("WITHIN_BOUNDS"))

    def constant(self, name: str) -> Any:
        """Return the value of a name outside the function."""
        function = self.function
        if name in function.__code__.co_freevars:
            number = function.__code__.co_freevars.index(name)
            return function.__closure__[number].cell_contents
        for names in (function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise NameError(f"{name!r} has no value yet")


class Variable(NamedTuple):
    """Memory for a value of one type."""

    model: Any
    places: list[str]
    kinds: list[str]


class Translator:
    """Translates a function and all functions that it calls.

    A variable has the type of its first value. If a later value needs a wider type, ``wider``
    stores it and the translation starts again.
    """

    def __init__(self, wider: dict[Any, str], width: int = 1) -> None:
        self._wider, self._widened = wider, False
        self.width = width
        """Numbers in an entry of ``lanes``."""
        self._disjoint = False
        """Whether array arguments never share memory."""
        self._memory: dict[str, str] = {}
        """The address of the data of each array argument."""
        self._scopes_of: dict[str, int] = {}
        self._declared: dict[str, str] = {}
        self._names = 0
        self._allocated: list[str] = []
        self._lines: list[str] = []
        self._open = True
        """Whether the next line is reachable."""
        self._targets: set[str] = set()
        """The labels that reachable lines jump to."""
        self._scopes: list[Scope] = []
        self._line = 0
        self._where = ""

    def module(self, function: Any, arguments: Sequence[Any], results: int) -> str | None:
        """Return the module of a function with these arguments and a number of integer results.

        Return None if a variable needs a wider type: ``wider`` then has it.
        """
        if isinstance(function, FunctionType):
            code = function.__code__
            self._where = f"{code.co_filename}:{code.co_firstlineno}: "
            self._disjoint = bool(function.__globals__.get("DISJOINT"))
        parameters: list[str] = []
        given = [self._argument(argument, parameters) for argument in arguments]
        value = self.call(function, given, {})
        returned = leaves(value) if results else []
        parameters += ["ptr %results"] * (results > 0)
        for k, leaf in enumerate(returned):
            place = self.emitted("address", f"getelementptr i64, ptr %results, i64 {k}")
            self.write(f"store i64 {self.converted(leaf, 'integer')}, ptr {place.text}")
        self.write("ret void")
        if self._widened:
            return None
        head = f"define  void @{SYMBOL}({', '.join(parameters)}) nounwind {{"
        body = [head, *self._allocated, *self._lines, "}"]
        return "\n".join([*self._declared.values(), *body, *self._scopes_text()])

    @property
    def symbols(self) -> tuple[str, ...]:
        """The library functions that the module calls."""
        return tuple(name for name in self._declared if not name.startswith("llvm."))

    # The text

    def write(self, line: str) -> None:
        if self._open:
            self._lines.append(f"  {line}")

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def emitted(self, kind: str, operation: str, least: int | None = None) -> Number:
        """Write an operation and return its result."""
        name = self._name("%v")
        self.write(f"{name} = {operation}")
        return Number(name, kind, least)

    def _jump(self, label: str) -> None:
        self._end(f"br label %{label}", label)

    def _branch(self, test: Number, yes: str, no: str) -> None:
        if test.kind == "truths":
            self.refuse("a branch that some lanes take", NotInLanesError)
        self._end(f"br i1 {test.text}, label %{yes}, label %{no}", yes, no)

    def _end(self, line: str, *labels: str) -> None:
        """End a basic block with jumps to labels."""
        if self._open:
            self.write(line)
            self._targets.update(labels)
            self._open = False

    def _begin(self, label: str) -> None:
        """Begin a basic block after the previous one, if it is reachable."""
        self._jump(label)
        if label in self._targets:
            self._lines.append(f"{label}:")
            self._open = True

    def refuse(self, reason: str, kind: type[Exception] = CannotCompileError) -> NoReturn:
        """Raise an error with the file and line of the current statement."""
        if not self._scopes:
            raise kind(f"{self._where}{reason}")
        found = self._scopes[-1].definition
        raise kind(f"{found.file}:{found.line + self._line}: {reason}")

    # Arguments of the function, which ctypes passes

    def _argument(self, argument: Any, parameters: list[str]) -> Any:
        """Return the value of an argument of this type."""

        def parameter(type_: str) -> str:
            parameters.append(f"{type_} %a{len(parameters)}")
            return f"%a{len(parameters) - 1}"

        if isinstance(argument, np.ndarray):
            return self._array_object(parameter("ptr"), argument)
        if isinstance(argument, np.random.Generator):
            return Generator(*(Number(parameter("ptr"), "address") for _ in range(2)))
        if isinstance(argument, tuple):
            items = [self._argument(item, parameters) for item in argument]
            return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
        if argument is None:
            return None
        if isinstance(argument, TRUTHS):
            return self.emitted("truth", f"icmp ne i64 {parameter('i64')}, 0")
        if isinstance(argument, UINT64):
            return Number(parameter("i64"), "unsigned")
        if isinstance(argument, (int, np.integer)):
            least = 0 if isinstance(argument, np.unsignedinteger) else None
            return Number(parameter("i64"), "integer", least)
        return Number(parameter("double"), "float")

    def _array_object(self, pointer: str, example: "np.ndarray[Any, Any]") -> Array:
        """Return an array from the address of its Python object.

        The offsets of its fields are part of NumPy's binary interface.
        """

        def field(k: int) -> Number:
            offset = object.__basicsize__ + k * struct.calcsize("P")
            place = self.emitted("address", f"getelementptr i8, ptr {pointer}, i64 {offset}")
            return self.emitted("address", f"load ptr, ptr {place.text}")

        def numbers(first: Number, least: int | None) -> tuple[Number, ...]:
            places = [
                self.emitted("address", f"getelementptr i64, ptr {first.text}, i64 {k}")
                for k in range(example.ndim)
            ]
            return tuple(self.emitted("integer", f"load i64, ptr {p.text}", least) for p in places)

        strides = None if example.flags.c_contiguous else numbers(field(3), None)
        data = field(0)
        self._memory[pointer] = data.text
        return Array(data, example.dtype, numbers(field(2), 0), strides, argument=pointer)

    # Numbers

    def number(self, value: Any) -> Number:
        """Return a number; constants are written as in LLVM."""
        if isinstance(value, Number):
            return value
        if isinstance(value, UINT64):
            return Number(_integer_text(int(value)), "unsigned")
        if isinstance(value, TRUTHS):
            return Number(str(bool(value)).lower(), "truth")
        if isinstance(value, (int, np.integer)):
            return Number(str(int(value)), "integer", int(value))
        bits = int.from_bytes(struct.pack(">d", value), "big")
        return Number(f"0x{bits:016X}", "float")

    def converted(self, value: Any, kind: str) -> str:
        """Return the text of a number of another kind."""
        x = self.number(value)
        kind = "integer" if kind == "natural" else kind
        if x.kind == kind or {x.kind, kind} == {"integer", "unsigned"}:
            return x.text
        if kind in VECTORS and x.kind not in VECTORS:
            return self._repeated(x, kind)
        if (operation := _CONVERSIONS.get((x.kind, kind))) is None:
            self.refuse(f"a number for all lanes is needed, not {x.kind}", NotInLanesError)
        if operation.startswith("call"):
            self._declare(operation[len("call i64 @") : -len("(double {})")], "i64", ["double"])
        return self.emitted(kind, operation.format(x.text)).text

    def _repeated(self, x: Number, kind: str) -> str:
        """Return the text of a vector with a number in each lane."""
        scalar = kind.removesuffix("s")
        text, type_ = self.converted(x, scalar), TYPES[scalar]
        if not text.startswith("%"):
            return f"<{', '.join([f'{type_} {text}'] * LANES)}>"
        first = self.emitted(kind, f"insertelement {TYPES[kind]} poison, {type_} {text}, i64 0")
        shuffled = f"{TYPES[kind]} {first.text}, {TYPES[kind]} poison, <{LANES} x i32> "
        return self.emitted(kind, f"shufflevector {shuffled}zeroinitializer").text

    def whole(self, value: Any) -> Number:
        """Return an integer as a signed one."""
        x = self.number(value)
        if x.kind in VECTORS:
            self.refuse("an integer that differs by lane", NotInLanesError)
        return x if x.kind == "integer" else Number(self.converted(x, "integer"), "integer", 0)

    def _declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        pure = "" if result == "void" else " memory(none)"
        self._declared[name] = (
            f"declare {result} @{name}({', '.join(parameters)}) nounwind willreturn{pure}"
        )

    def library(self, name: str, *values: Any) -> Number:
        """Call a function of numbers: an intrinsic of LLVM, or one of the C library."""
        kind = "floats" if any(self.number(x).kind in VECTORS for x in values) else "float"
        type_, given = TYPES[kind], [self.converted(value, kind) for value in values]
        if name in INTRINSICS:
            name = f"llvm.{name}.{'f64' if kind == 'float' else f'v{LANES}f64'}"
        elif kind == "floats":
            return self._library_by_lane(name, given)
        self._declare(name, type_, [type_] * len(given))
        passed = ", ".join(f"{type_} {text}" for text in given)
        return self.emitted(kind, f"call {type_} @{name}({passed})")

    def _library_by_lane(self, name: str, given: list[str]) -> Number:
        type_, found = TYPES["floats"], Number("poison", "floats")
        for lane in range(LANES):
            own = [self.emitted("float", f"extractelement {type_} {x}, i64 {lane}") for x in given]
            value = self.library(name, *own).text
            inserted = f"insertelement {type_} {found.text}, double {value}, i64 {lane}"
            found = self.emitted("floats", inserted)
        return found

    def chosen(self, test: Number, yes: Number, no: Number, least: int | None = None) -> Number:
        """Return one of two integers."""
        given = f"i1 {test.text}, i64 {yes.text}, i64 {no.text}"
        return self.emitted(no.kind, f"select {given}", least)

    # Arithmetic

    def binary(self, operation: type[ast.operator], left: Any, right: Any) -> Any:
        """Return the result of an operation with two operands."""
        function, name = _OPERATORS[operation]
        if not isinstance(left, Number) and not isinstance(right, Number):
            return function(left, right)
        x, y = self.number(left), self.number(right)
        if operation is ast.Pow:
            self.refuse("** of a variable")
        kind = common_kind(x.kind, y.kind)
        if operation not in (ast.BitAnd, ast.BitOr, ast.BitXor):
            kind = _AS_NUMBER.get(kind, kind)
        if operation is ast.Div and kind != "floats":
            kind = "float"
        x, y = (Number(self.converted(n, kind), kind, _least(n)) for n in (x, y))
        if operation in (ast.FloorDiv, ast.Mod):
            if kind not in ("float", "floats"):
                return self._divided(operation, x, y, right)
            divide: Any = floor_divide if operation is ast.FloorDiv else remainder
            return self.number(self.call(divide, [x, y], {}))
        if operation in (ast.LShift, ast.RShift):
            return self._shifted(name, x, y, right)
        name = f"f{name}" if kind in ("float", "floats") else name
        least = _least_of(operation, x, y, right)
        return self.emitted(kind, f"{name} {TYPES[kind]} {x.text}, {y.text}", least)

    def _shifted(self, name: str, x: Number, y: Number, given: Any) -> Number:
        """Shift as NumPy does, also by 64 bits and more."""
        least = 0 if x.natural and name == "ashr" else None
        name = "lshr" if (name, x.kind) == ("ashr", "unsigned") else name
        if isinstance(given, (int, np.integer)) and 0 <= int(given) < 64:
            return self.emitted(x.kind, f"{name} i64 {x.text}, {y.text}", least)
        fits = self.emitted("truth", f"icmp ult i64 {y.text}, 64")
        bits = self.chosen(fits, y, Number("63", x.kind))
        shifted = self.emitted(x.kind, f"{name} i64 {x.text}, {bits.text}", least)
        return shifted if name == "ashr" else self.chosen(fits, shifted, Number("0", x.kind))

    def _divided(self, operation: type[ast.operator], x: Number, y: Number, given: Any) -> Number:
        """Divide integers; the remainder has the divisor's sign. Division by zero gives 0."""
        is_quotient, kind, natural = operation is ast.FloorDiv, x.kind, x.natural and y.natural
        least = 0 if natural or (y.natural and not is_quotient) else None
        # Unsigned division of naturals: sums and products must stay below 2^63, see the package.
        sign = "u" if kind == "unsigned" or (natural and is_quotient) else "s"
        constant = int(given) if isinstance(given, (int, np.integer)) else 0
        if constant > 0 and constant.bit_count() == 1:
            shift, bits = "lshr" if sign == "u" else "ashr", constant.bit_length() - 1
            short = f"{shift} i64 {x.text}, {bits}" if is_quotient else None
            return self.emitted(kind, short or f"and i64 {x.text}, {constant - 1}", least)
        divisor, special = y, None
        if constant <= 0:
            # Processors trap on x / 0 and on -2^63 / -1.
            special = self.emitted("truth", f"icmp eq i64 {y.text}, 0")
            if sign == "s":
                minus = self.emitted("truth", f"icmp eq i64 {y.text}, -1")
                special = self.emitted("truth", f"or i1 {special.text}, {minus.text}")
            divisor = self.chosen(special, Number("1", kind), y)
        result = rest = self.emitted(kind, f"{sign}rem i64 {x.text}, {divisor.text}", least)
        if is_quotient:
            result = self.emitted(kind, f"{sign}div i64 {x.text}, {divisor.text}", least)
        if sign == "s":  # processors round to zero, Python rounds down
            signs = self.emitted(kind, f"xor i64 {rest.text}, {divisor.text}")
            differ = self.emitted("truth", f"icmp slt i64 {signs.text}, 0")
            some = self.emitted("truth", f"icmp ne i64 {rest.text}, 0")
            wrong = self.emitted("truth", f"and i1 {differ.text}, {some.text}")
            added = self.chosen(wrong, Number("-1", kind) if is_quotient else divisor, _ZERO)
            result = self.emitted(kind, f"add i64 {result.text}, {added.text}", least)
        if special is None or not is_quotient:
            return result
        return self.chosen(
            special, self.emitted(kind, f"mul i64 {x.text}, {y.text}"), result, least
        )

    def compare(self, operation: type[ast.cmpop], left: Any, right: Any) -> Any:
        """Return whether a comparison holds."""
        if operation in (ast.Is, ast.IsNot):
            return (left is right) == (operation is ast.Is)
        if not isinstance(left, Number) and not isinstance(right, Number):
            return _COMPARISONS[operation](left, right)
        x, y = self.number(left), self.number(right)
        kind = common_kind(x.kind, y.kind)
        kind = _AS_NUMBER.get(kind, kind)
        condition = _COMPARISONS[operation].__name__
        if kind in ("float", "floats"):  # false with NaN, except for !=
            command = f"fcmp {'une' if condition == 'ne' else 'o' + condition}"
        else:
            sign = "" if condition in ("eq", "ne") else "u" if kind == "unsigned" else "s"
            command = f"icmp {sign}{condition}"
        both = f"{self.converted(x, kind)}, {self.converted(y, kind)}"
        result = "truths" if kind == "floats" else "truth"
        return self.emitted(result, f"{command} {TYPES[kind]} {both}")

    # Variables

    def _allocate(self, kind: str) -> str:
        """Return memory for a number, initially zero."""
        name, type_ = self._name("%p"), TYPES[kind]
        self._allocated.append(f"  {name} = alloca {type_}")
        self._allocated.append(f"  store {type_} zeroinitializer, ptr {name}")
        return name

    def _variable(self, name: str, value: Any) -> Variable:
        """Return new memory for values of a type."""
        scope, kinds = self._scopes[-1], []
        for k, leaf in enumerate(leaves(value)):
            kind = self.number(leaf).variable_kind
            kinds.append(wider_kind(kind, self._wider.get((scope.key, name, k), kind)) or kind)
        return Variable(value, [self._allocate(kind) for kind in kinds], kinds)

    def _put(self, variable: Variable, name: str, value: Any) -> None:
        for k, (leaf, kind) in enumerate(zip(leaves(value), variable.kinds, strict=True)):
            needed = self.number(leaf).variable_kind
            if (wider := wider_kind(kind, needed)) == kind:
                continue
            if not wider:
                self.refuse(f"{name} becomes {needed}, was {kind}")
            key = self._scopes[-1].key, name, k
            self._wider[key] = wider_kind(wider, self._wider.get(key, wider))
            self._widened = True
            if wider in VECTORS:  # a scalar variable cannot hold a vector
                return
        self._store(variable, leaves(value))

    def _store(self, variable: Variable, given: list[Any]) -> None:
        for leaf, place, kind in zip(given, variable.places, variable.kinds, strict=True):
            self.write(f"store {TYPES[kind]} {self.converted(leaf, kind)}, ptr {place}")

    def _get(self, variable: Variable) -> Any:
        loaded = []
        for place, kind in zip(variable.places, variable.kinds, strict=True):
            least = 0 if kind == "natural" else None
            kind = "integer" if kind == "natural" else kind
            loaded.append(self.emitted(kind, f"load {TYPES[kind]}, ptr {place}", least))
        return rebuilt(variable.model, iter(loaded))

    def _set(self, name: str, value: Any) -> None:
        variables = self._scopes[-1].variables
        if name not in variables:
            variables[name] = self._variable(name, value)
        self._put(variables[name], name, value)

    # Arrays

    def _wrapped(self, index: Any, size: Any) -> Number:
        """Return the nonnegative index: k + size for k < 0."""
        k = self.whole(index)
        if k.natural:
            return k
        end = self.whole(self.binary(ast.Add, k, size))
        if isinstance(index, int):
            return end
        if self._scopes[-1].within_bounds:
            return k
        negative = self.emitted("truth", f"icmp slt i64 {k.text}, 0")
        return self.chosen(negative, end, k, 0)

    def _place(self, array: Array, indices: Sequence[Any]) -> str:
        """Return the address of an entry, or of a row."""
        place: str = array.data.text
        unit = self._element(array.dtype)
        unit = "i8" if array.strides else unit
        for k, index in enumerate(indices):
            step: Any = array.strides[k] if array.strides else 1
            for size in () if array.strides else array.shape[k + 1 :]:
                step = self.binary(ast.Mult, step, size)
            at: Any = self._wrapped(index, array.shape[k])
            if not isinstance(step, int) or step != 1:
                at = self.whole(self.binary(ast.Mult, at, step))
            offset = f"getelementptr inbounds {unit}, ptr {place}, i64 {at.text}"
            place = self.emitted("address", offset).text
        return place

    def load(self, array: Array, indices: Sequence[Any]) -> Any:
        """Return an entry, or a row, of an array."""
        place, count = self._place(array, indices), len(indices)
        if count < len(array.shape):
            strides = array.strides and array.strides[count:]
            data = Number(place, "address")
            return evolve(array, data=data, shape=array.shape[count:], strides=strides)
        kind, type_ = array.dtype.kind, self._element(array.dtype)
        if array.lanes:
            type_ = TYPES["floats"]
            return self.emitted("floats", f"load {type_}, ptr {place}, align 8{self._apart(array)}")
        entry = self.emitted("float", f"load {type_}, ptr {place}{self._apart(array)}")
        if kind == "f":
            return entry
        if kind == "b":
            return self.emitted("truth", f"icmp ne i8 {entry.text}, 0")
        least = 0 if kind == "u" else None
        if type_ == "i64":
            return Number(entry.text, "unsigned" if kind == "u" else "integer", least)
        extended = f"{'zext' if kind == 'u' else 'sext'} {type_} {entry.text} to i64"
        return self.emitted("integer", extended, least)

    def store(self, array: Any, indices: Sequence[Any], value: Any) -> None:
        """Write an entry of an array."""
        place, type_ = self._place(array, indices), self._element(array.dtype)
        if array.lanes:
            text, type_ = self.converted(value, "floats"), TYPES["floats"]
            self.write(f"store {type_} {text}, ptr {place}, align 8{self._apart(array)}")
            return
        kinds = {"double": "float", "i64": "unsigned" if array.dtype.kind == "u" else "integer"}
        value = self._truth(value) if array.dtype.kind == "b" else value
        text = self.converted(value, kinds.get(type_, "integer"))
        if type_ not in ("double", "i64"):
            text = self.emitted("integer", f"trunc i64 {text} to {type_}").text
        self.write(f"store {type_} {text}, ptr {place}{self._apart(array)}")

    def _apart(self, array: Array) -> str:
        """Return LLVM's alias metadata for a disjoint array, otherwise an empty string."""
        if not self._disjoint or not array.argument:
            return ""
        number = self._scopes_of.setdefault(array.argument, len(self._scopes_of))
        return f", !alias.scope !{3 * number + 2}, !noalias !{3 * number + 3}"

    def _scopes_text(self) -> list[str]:
        """Return the definitions of the alias metadata."""
        count = len(self._scopes_of)
        lines = ["!0 = distinct !{!0}"] * (count > 0)
        for k in range(count):
            others = ", ".join(f"!{3 * other + 1}" for other in range(count) if other != k)
            lines += [
                f"!{3 * k + 1} = distinct !{{!{3 * k + 1}, !0}}",
                f"!{3 * k + 2} = !{{!{3 * k + 1}}}",
                f"!{3 * k + 3} = !{{{others}}}",
            ]
        return lines

    def in_lanes(self, array: Array, at: Any, stride: Any, wide: Any) -> Array:
        """Translate ``lanes``."""
        size = array.strides[0] if array.strides else 8
        data = Number(self._place(array, [at]), "address")
        strides = [self.binary(ast.Mult, stride, size)]
        return evolve(array, data=data, strides=strides, lanes=wide > 1)

    def _sliced(self, value: Any, node: ast.Slice) -> Any:
        ends = [None if end is None else self.expression(end) for end in (node.lower, node.upper)]
        size = value.shape[0]
        begin, end = (0 if ends[0] is None else ends[0]), (size if ends[1] is None else ends[1])
        if not self._scopes[-1].within_bounds:
            begin, end = self.call(clamped, [begin, end, size], {})
        data = Number(self._place(value, [begin]), "address")
        length = self.whole(self.binary(ast.Sub, end, begin))
        length = Number(length.text, "integer", 0)
        return evolve(value, data=data, shape=(length, *value.shape[1:]))

    def _element(self, dtype: "np.dtype[Any]") -> str:
        """Return LLVM's type of the numbers in an array."""
        return element_type(dtype) or self.refuse(f"an array of {dtype}")

    # Statements

    def _body(self, statements: Iterable[ast.stmt]) -> None:
        for node in statements:
            if not self._open:
                return
            self._line = node.lineno
            method = getattr(self, f"_statement_{type(node).__name__.lower()}", None)
            if method is None:
                self.refuse(f"{type(node).__name__} is not in the subset")
            method(node)

    def _statement_pass(self, _: ast.Pass) -> None:
        pass

    def _statement_expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def _statement_assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        for target in node.targets:
            self._assign(target, value)

    def _statement_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, self.expression(node.value))

    def _statement_augassign(self, node: ast.AugAssign) -> None:
        operation, target = type(node.op), node.target
        if isinstance(target, ast.Subscript):
            array, indices = self._entry(target)
            indices = [self._wrapped(*pair) for pair in zip(indices, array.shape, strict=False)]
            before = self.load(array, indices)
            after = self.binary(operation, before, self.expression(node.value))
            self.store(array, indices, after)
        elif isinstance(target, ast.Name):
            before = self.expression(ast.Name(target.id, ast.Load()))
            self._set(target.id, self.binary(operation, before, self.expression(node.value)))

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if target.id in self._scopes[-1].definition.single:
                self._scopes[-1].values[target.id] = value
            else:
                self._set(target.id, value)
        elif isinstance(target, ast.Tuple):
            if isinstance(value, Array):
                value = tuple(self.load(value, [k]) for k in range(len(target.elts)))
            for inner, item in zip(target.elts, value, strict=True):
                self._assign(inner, item)
        elif isinstance(target, ast.Subscript):
            self.store(*self._entry(target), value)

    def _entry(self, node: ast.Subscript) -> tuple[Any, list[Any]]:
        array, index = self.expression(node.value), self.expression(node.slice)
        return array, [*index] if isinstance(index, tuple) else [index]

    def _statement_return(self, node: ast.Return) -> None:
        scope = self._scopes[-1]
        value = None if node.value is None else self.expression(node.value)
        if scope.definition.direct and not scope.end:
            scope.result = value
            return
        if value is not None:
            scope.result = scope.result or self._variable("return", value)
            self._put(scope.result, "return", value)
        self._jump(scope.end)

    def _statement_if(self, node: ast.If) -> None:
        test = self._condition(node.test)
        if isinstance(test, bool):
            self._body(node.body if test else node.orelse)
            return
        yes, no, end = self._name("then"), self._name("else"), self._name("endif")
        self._branch(test, yes, no)
        for label, statements in ((yes, node.body), (no, node.orelse)):
            self._begin(label)
            self._body(statements)
            self._jump(end)
        self._begin(end)

    def _statement_while(self, node: ast.While) -> None:
        head, inner, end = self._name("while"), self._name("do"), self._name("endwhile")
        self._begin(head)
        test = self._condition(node.test)
        if isinstance(test, bool):
            self._jump(inner if test else end)
        else:
            self._branch(test, inner, end)
        self._begin(inner)
        self._loop(node.body, end, head)
        self._jump(head)
        self._begin(end)

    def _loop(self, statements: list[ast.stmt], end: str, following: str) -> None:
        self._scopes[-1].loops.append((end, following))
        self._body(statements)
        self._scopes[-1].loops.pop()

    def _statement_break(self, _: ast.Break) -> None:
        self._jump(self._scopes[-1].loops[-1][0])

    def _statement_continue(self, _: ast.Continue) -> None:
        self._jump(self._scopes[-1].loops[-1][1])

    def _statement_for(self, node: ast.For) -> None:
        over = self.expression(node.iter)
        if isinstance(over, range):
            over = Range(over.start, over.stop, over.step)
        if is_tuple(over):
            self._unrolled(node, over)
            return
        array = over if isinstance(over, Array) else None
        if isinstance(over, Array):
            over = Range(0, over.shape[0])
        start, stop, step = self.whole(over.start), self.whole(over.stop), over.step
        bound = start.least if step > 0 else None if stop.least is None else stop.least + 1
        head, inner, following, end = map(self._name, ("for", "do", "next", "endfor"))
        counter = self._allocate("integer")
        self.write(f"store i64 {start.text}, ptr {counter}")
        self._begin(head)
        k = self.emitted("integer", f"load i64, ptr {counter}", bound)
        condition = f"icmp {'slt' if step > 0 else 'sgt'} i64 {k.text}, {stop.text}"
        self._branch(self.emitted("truth", condition), inner, end)
        self._begin(inner)
        self._assign(node.target, k if array is None else self.load(array, [k]))
        self._loop(node.body, end, following)
        self._begin(following)
        before = self.emitted("integer", f"load i64, ptr {counter}")
        after = self.emitted("integer", f"add nsw i64 {before.text}, {step}")
        self.write(f"store i64 {after.text}, ptr {counter}")
        self._jump(head)
        self._begin(end)

    def _unrolled(self, node: ast.For, over: tuple[Any, ...]) -> None:
        end = self._name("endfor")
        for item in over:
            if not self._open:
                break
            following = self._name("next")
            self._assign(node.target, item)
            self._loop(node.body, end, following)
            self._begin(following)
        self._begin(end)

    # Expressions

    def expression(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        method = getattr(self, f"_expression_{type(node).__name__.lower()}", None)
        if method is None:
            self.refuse(f"{ast.unparse(node)[:60]!r} is not in the subset")
        return method(node)

    def _expression_constant(self, node: ast.Constant) -> Any:
        return node.value

    def _expression_name(self, node: ast.Name) -> Any:
        scope = self._scopes[-1]
        if node.id in scope.values:
            return scope.values[node.id]
        if node.id in scope.variables:
            return self._get(scope.variables[node.id])
        return scope.constant(node.id)

    def _expression_attribute(self, node: ast.Attribute) -> Any:
        value, name = self.expression(node.value), node.attr
        if isinstance(value, Array):
            if name == "shape":
                return value.shape
            if name != "size":
                self.refuse(f"{name!r} of an array")
            size: Any = 1
            for k, length in enumerate(value.shape):
                size = self.binary(ast.Mult, size, length) if k else length
            return size
        return getattr(value, name)

    def _expression_subscript(self, node: ast.Subscript) -> Any:
        value = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(value, node.slice)
        index = self.expression(node.slice)
        if isinstance(value, Array):
            return self.load(value, index if isinstance(index, tuple) else [index])
        return value[index]

    def _expression_tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self.expression, node.elts))

    def _expression_binop(self, node: ast.BinOp) -> Any:
        return self.binary(type(node.op), self.expression(node.left), self.expression(node.right))

    def _expression_unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            test = self._condition(node.operand)
            if isinstance(test, bool):
                return not test
            true = self.converted(True, test.kind)
            return self.emitted(test.kind, f"xor {TYPES[test.kind]} {test.text}, {true}")
        value = self.expression(node.operand)
        if not isinstance(value, Number):
            return _UNARY[type(node.op)](value)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            return self.emitted(value.kind, f"xor i64 {value.text}, -1")
        if value.kind in ("float", "floats"):
            return self.emitted(value.kind, f"fneg {TYPES[value.kind]} {value.text}")
        return self.emitted(value.kind, f"sub i64 0, {value.text}")

    def _expression_compare(self, node: ast.Compare) -> Any:
        pairs = list(zip(node.ops, node.comparators, strict=True))

        def holds(left: Any, k: int) -> Any:
            right = self.expression(pairs[k][1])
            test = self.compare(type(pairs[k][0]), left, right)
            if k + 1 == len(pairs) or test is False:
                return test
            return self.either(test, lambda: holds(right, k + 1), lambda: False)

        return holds(self.expression(node.left), 0)

    def _expression_boolop(self, node: ast.BoolOp) -> Any:
        return self._joined(node, self.expression)

    def _joined(self, node: ast.BoolOp, evaluated: Callable[[ast.expr], Any]) -> Any:
        both = isinstance(node.op, ast.And)

        def rest(k: int) -> Any:
            value = evaluated(node.values[k])
            if k + 1 == len(node.values):
                return value
            if not isinstance(value, Number):
                return rest(k + 1) if self._truth(value) == both else value
            following = lambda: rest(k + 1)  # noqa: E731
            if both:
                return self.either(value, following, lambda: False)
            return self.either(value, lambda: True, following)

        return rest(0)

    def _condition(self, node: ast.expr) -> Any:
        """Return the truth of an expression, as a constant if possible."""
        if isinstance(node, ast.BoolOp):
            return self._joined(node, self._condition)
        return self._truth(self.expression(node))

    def _truth(self, value: Any) -> Any:
        if isinstance(value, Number):
            kind = "truths" if value.kind in VECTORS else "truth"
            return Number(self.converted(value, kind), kind)
        return bool(value)

    def _expression_ifexp(self, node: ast.IfExp) -> Any:
        test = self._condition(node.test)
        return self.either(
            test, lambda: self.expression(node.body), lambda: self.expression(node.orelse)
        )

    def either(self, test: Any, body: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """Return one of two values, and compute only that one."""
        if not isinstance(test, Number):
            return body() if test else other()
        if test.kind == "truths":
            values = body(), other()
            if not all(isinstance(value, NUMBERS) for value in values):
                self.refuse("a conditional expression by lane needs numbers", NotInLanesError)
            kind = common_kind("truths", common_kind(*(self.number(x).kind for x in values)))
            given = ", ".join(f"{TYPES[kind]} {self.converted(value, kind)}" for value in values)
            return self.emitted(kind, f"select {TYPES['truths']} {test.text}, {given}")
        yes, no, end = self._name("yes"), self._name("no"), self._name("either")
        self._branch(test, yes, no)
        self._begin(yes)
        one = body()
        first, first_open = self._lines, self._open
        self._lines, self._open = [], False
        self._begin(no)
        two = other()
        second, second_open = self._lines, self._open
        pairs = zip(map(self.number, leaves(one)), map(self.number, leaves(two)), strict=True)
        kinds = [wider_kind(x.variable_kind, y.variable_kind) for x, y in pairs]
        result = Variable(one, [self._allocate(kind) for kind in kinds], kinds)
        # Store the results at the end: their common kind depends on both branches.
        for self._lines, self._open, value in (first, first_open, one), (second, second_open, two):
            self._store(result, leaves(value))
            self._jump(end)
        self._lines = first + second
        self._begin(end)
        return self._get(result)

    # Calls

    def _expression_call(self, node: ast.Call) -> Any:
        function = self.expression(node.func)
        if function is tuple and [*map(type, node.args)] == [ast.GeneratorExp]:
            return self._items(node.args[0])
        given = [self.expression(argument) for argument in node.args]
        named = {str(word.arg): self.expression(word.value) for word in node.keywords}
        return self.call(function, given, named)

    def _items(self, node: Any) -> tuple[Any, ...]:
        """Translate ``tuple`` of a generator over a constant tuple."""
        (loop,), found = node.generators, list[Any]()
        over = self.expression(loop.iter)
        several = isinstance(loop.target, ast.Tuple)
        names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        scope = self._scopes[-1]
        outer = scope.values, scope.variables  # the names are the generator's own
        scope.variables = {n: v for n, v in scope.variables.items() if n not in names}
        for item in over:
            values = item if several else (item,)
            scope.values = outer[0] | dict(zip(names, values, strict=True))
            found.append(self.expression(node.elt))
        scope.values, scope.variables = outer
        return tuple(found)

    def _pointed(self, address: Number, given: list[Any]) -> None:
        """Call machine code by its address, with numbers and array arguments of this function."""
        passed = []
        for value in given:
            if isinstance(value, Array):
                if self._memory.get(value.argument) != value.data.text:
                    self.refuse("a call by address with an array that is not an argument")
                passed.append(f"ptr {value.argument}")
            else:
                kind = self.number(value).variable_kind
                kind = "integer" if kind == "truth" else kind
                passed.append(f"{TYPES[kind]} {self.converted(value, kind)}")
        place = self.emitted("address", f"inttoptr i64 {address.text} to ptr")
        self.write(f"call void {place.text}({', '.join(passed)})")

    def call(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call."""
        if isinstance(function, Number) and function.kind == "integer" and not named:
            return self._pointed(function, given)
        if isinstance(function, Draw):
            state, draw = function.generator
            return self.emitted("float", f"call double {draw.text}(ptr {state.text})")
        if function is prefetch and len(given) == 2 and not named:
            self._prefetch(*given)
        elif isinstance(function, FunctionType) and function not in (lanes, width):
            return self._expanded(function, given, named)
        elif isinstance(function, type) and hasattr(function, "_fields"):
            return function(*given, **named)
        elif not named and (compute := function_of(function)):
            return compute(self, *given)
        else:
            self.refuse(f"a call of {function}")
        return None

    def _prefetch(self, array: Array, k: Any) -> None:
        kinds = ["ptr", "i32", "i32", "i32"]
        self._declare("llvm.prefetch.p0", "void", kinds)
        place = self._place(array, [k])
        self.write(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def _expanded(self, function: FunctionType, given: list[Any], named: dict[str, Any]) -> Any:
        """Inline a function."""
        code, line = function.__code__, self._line
        names = code.co_varnames[: code.co_argcount]
        passed = [*given, *(named[name] for name in names if name in named)]
        arguments = dict(zip(names, passed, strict=True))
        definition = definition_of(code, *source(function))
        key = function, tuple(map(kinds_of, arguments.values()))
        scope = Scope(key, function, definition)
        self._scopes.append(scope)
        for name, value in arguments.items():
            if name in definition.stored:
                self._set(name, value)
            else:
                scope.values[name] = value
        if not definition.direct:
            scope.end = self._name("end")
        self._body(definition.body)
        result = scope.result
        if not definition.direct:
            self._begin(scope.end)
            result = None if result is None else self._get(result)
        self._scopes.pop()
        self._line = line
        return result


def _least(x: Number) -> int | None:
    return 0 if x.kind == "truth" else x.least


def _least_of(operation: type[ast.operator], x: Number, y: Number, given: Any) -> int | None:
    """Return a lower bound of the result of an operation on integers, or None."""
    if operation is ast.Sub:
        return x.least - given if isinstance(given, int) and x.least is not None else None
    if operation is ast.BitAnd and (x.natural or y.natural):
        return 0
    if x.least is None or y.least is None:
        return None
    if operation is ast.Add:
        return x.least + y.least
    return 0 if x.natural and y.natural else None


def _integer_text(value: int) -> str:
    return str(value - 2**64 if value >= 2**63 else value)


_AS_NUMBER = {"truth": "integer", "truths": "floats"}
_CONVERSIONS = {
    ("integer", "float"): "sitofp i64 {} to double",
    ("unsigned", "float"): "uitofp i64 {} to double",
    ("truth", "float"): "uitofp i1 {} to double",
    ("truth", "integer"): "zext i1 {} to i64",
    ("truth", "unsigned"): "zext i1 {} to i64",
    # The saturating intrinsics are defined for all floats, unlike fptosi and fptoui.
    ("float", "integer"): "call i64 @llvm.fptosi.sat.i64.f64(double {})",
    ("float", "unsigned"): "call i64 @llvm.fptoui.sat.i64.f64(double {})",
    ("float", "truth"): "fcmp une double {}, 0.0",
    ("integer", "truth"): "icmp ne i64 {}, 0",
    ("unsigned", "truth"): "icmp ne i64 {}, 0",
    ("truths", "floats"): f"uitofp {TYPES['truths']} {{}} to {TYPES['floats']}",
    ("floats", "truths"): f"fcmp une {TYPES['floats']} {{}}, zeroinitializer",
}
"""LLVM's operation from one kind to another."""
_OPERATORS: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Add: (operator.add, "add"),
    ast.Sub: (operator.sub, "sub"),
    ast.Mult: (operator.mul, "mul"),
    ast.Div: (operator.truediv, "div"),
    ast.FloorDiv: (operator.floordiv, ""),
    ast.Mod: (operator.mod, ""),
    ast.Pow: (operator.pow, ""),
    ast.LShift: (operator.lshift, "shl"),
    ast.RShift: (operator.rshift, "ashr"),
    ast.BitAnd: (operator.and_, "and"),
    ast.BitOr: (operator.or_, "or"),
    ast.BitXor: (operator.xor, "xor"),
}
"""Each operation in Python and in LLVM."""
_ZERO = Number("0", "integer")
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
