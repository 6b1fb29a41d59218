"""bilex beside its peers, measured in the same run: ``python -m benchmarks NAME... [--quick] [--json FILE]``."""
