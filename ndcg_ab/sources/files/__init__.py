"""Read files of this machine and of object stores: find the files, unpack them, and parse them record by record."""
