"""What all tests need."""

from __future__ import annotations

import signal

# A shell starts jobs in the background with Ctrl-C ignored, and their children inherit it: a test that sends one to a
# process of its own would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
