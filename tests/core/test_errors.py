"""Errors: codes, and options that everybody reads as they write them."""

from topbin.core.errors import InputError, option


def test_marks_in_the_text_of_others_do_no_harm():
    name = "\ue000a\ue001b\ue001c\ue001d\ue002"
    for text in (name, "\ue000", "\ue002\ue000group\ue002"):
        error = InputError("TB103", f"no column {text!s}; leave out {option('drop', text)}.")
        assert error.message.startswith("no column ")
        assert "drop='" in error.message
        assert "--drop " in error.in_command
        assert not set(error.message + error.in_command) & set("\ue000\ue001\ue002")


def test_flags_and_values_are_told_apart():
    error = InputError("TB002", f"{option('force', True)}, {option('positive', 'True')}")
    assert error.message == "force=True, positive='True'"
    assert error.in_command == "--force, --positive True"


def test_an_option_with_an_empty_list_is_the_option_alone():
    assert InputError("TB008", f"leave out {option('sql', [])}.").in_command == "leave out --sql."
