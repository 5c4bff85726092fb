"""Settings of the whole suite."""

from hypothesis import settings

# The same examples on every run: a red suite means a change in the code, and a slow machine is
# not a failure. `--hypothesis-profile=default` searches at random.
settings.register_profile("nnpu", deadline=None, derandomize=True)
settings.load_profile("nnpu")
