"""Search engines that are asked over HTTP."""
