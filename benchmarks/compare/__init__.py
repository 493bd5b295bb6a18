"""CFR+ and CFR, with the same updates and averages, next to other libraries.

Every solver builds each game in a process of its own; on one core and with one thread they then
take turns of a few iterations. Time is that of the processor per iteration. Before, all come to the
same iterations, and the gaps of their averages are compared: they must be those of the same
algorithm. A full run writes tables and a plot into docs/; a quick one, or one of some games or
peers only, just prints.

    $ python -m benchmarks compare
    $ python -m benchmarks compare --quick
    $ python -m benchmarks compare --games kuhn leduc --peers compiled "OpenSpiel C++"
"""
