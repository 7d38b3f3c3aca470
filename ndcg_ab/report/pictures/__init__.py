"""Pictures that commands draw on demand, by Altair; the page draws its own figures."""
