//! Mutated bytes of a cage, one target for each parser; each holds its parser to a second reading.

mod fuzz;
