#!/usr/bin/env python
"""The command line of the service: `python manage.py <command> --help`."""

import _signal as signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A Ctrl-C during the other imports ends this without a traceback. (`signal` is itself slow.)
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from evalsvc.local.manage import main

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
