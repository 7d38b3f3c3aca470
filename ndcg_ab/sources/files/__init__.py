"""Files and object stores: which files are meant, and the careful way through them."""
