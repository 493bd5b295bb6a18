"""The laws of the contract, one function each."""

from regretkit._laws.growth import regret_grows_slowly
from regretkit._laws.kernels import kernel_agrees
from regretkit._laws.places import (
    strategies_lie_in_the_domain,
    strategies_lie_in_the_domain_whatever_is_expected,
    strategies_lie_in_the_domain_whatever_the_unit,
)
from regretkit._laws.rules import (
    a_constant_does_not_matter,
    one_over_two_blocks_equals_two,
    the_order_of_actions_does_not_matter,
    units_do_not_matter,
)
from regretkit._laws.states import (
    copies_go_their_own_way,
    equal_states_play_alike,
    state_round_trips,
)
from regretkit._laws.tools import Law as Law
from regretkit._laws.tools import Make as Make
from regretkit._laws.verbs import (
    an_expectation_lasts_for_one_iteration,
    asking_changes_nothing,
    inputs_are_neither_changed_nor_kept,
    outputs_are_read_only,
    refusal_leaves_the_state_alone,
    the_last_expectation_replaces_those_before,
)

LAWS: tuple[Law, ...] = (
    strategies_lie_in_the_domain,
    strategies_lie_in_the_domain_whatever_is_expected,
    strategies_lie_in_the_domain_whatever_the_unit,
    asking_changes_nothing,
    the_last_expectation_replaces_those_before,
    an_expectation_lasts_for_one_iteration,
    equal_states_play_alike,
    copies_go_their_own_way,
    state_round_trips,
    inputs_are_neither_changed_nor_kept,
    outputs_are_read_only,
    refusal_leaves_the_state_alone,
    one_over_two_blocks_equals_two,
    the_order_of_actions_does_not_matter,
    a_constant_does_not_matter,
    units_do_not_matter,
    kernel_agrees,
    regret_grows_slowly,
)
"""All laws, in the order in which they are checked."""
