"""Events of users, and the grades that click models make of them."""
