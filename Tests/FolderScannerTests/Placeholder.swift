// Placeholder of the first slice: replaced by the target's own tests.
