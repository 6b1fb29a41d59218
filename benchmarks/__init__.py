"""Side by side with peers, in one run: ``python -m benchmarks NAME... [--quick] [--json FILE]``."""
