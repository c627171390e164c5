"""The second factor: set up, asked for, used once, lost, switched off."""

from __future__ import annotations

import re
import threading

import pytest
from django.db import connections
from django.test import Client

from evalsvc.accounts.signing_in.factors import get_factor
from tests.admin.conftest import PASSWORD, new_user
from tests.conftest import Caller
from tests.signin.conftest import CODE, YOU, App, Clock, Somebody, codes_of, is_signed_in, secret_of, trail_of


def test_a_password_alone_lets_nobody_in(guarded: Somebody) -> None:
    answer = guarded.sign_in()

    assert (answer.status_code, answer["Location"]) == (302, CODE)
    assert not is_signed_in(guarded.client)
    assert guarded.client.get("/admin/")["Location"].startswith("/admin/login/")
    assert guarded.client.get("/console/")["Location"].startswith("/console/sign-in")


def test_the_code_lets_the_person_in_where_they_wanted(guarded: Somebody, alice: Caller) -> None:
    assert guarded.app is not None
    guarded.sign_in(next="/admin/")

    answer = guarded.send_code(guarded.app.code())

    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert guarded.client.get("/admin/").status_code == 200
    assert trail_of(alice, guarded.user) == ["signin.succeeded", "factor.switched_on", "signin.succeeded"]


def test_a_code_is_good_once(guarded: Somebody) -> None:
    assert guarded.app is not None
    code, second = guarded.app.code(), guarded.new_browser()
    guarded.sign_in()
    assert guarded.send_code(code).status_code == 302

    guarded.sign_in(client=second)
    again = guarded.send_code(code, second)

    assert again.status_code == 200 and "Invalid code" in again.content.decode()
    assert not is_signed_in(second)


def test_the_code_that_switched_it_on_signs_nobody_in(ann: Somebody, clock: Clock) -> None:
    ann.enter()
    ann.set_up(clock)
    assert ann.app is not None
    browser = ann.new_browser()
    ann.sign_in(client=browser)

    assert ann.send_code(ann.app.code(), browser).status_code == 200


def test_an_earlier_code_is_refused_after_a_later_one(guarded: Somebody) -> None:
    assert guarded.app is not None
    before, second = guarded.app.code(), guarded.new_browser()
    guarded.sign_in()
    guarded.send_code(guarded.app.code(steps=1))

    guarded.sign_in(client=second)

    assert guarded.send_code(before, second).status_code == 200


@pytest.mark.parametrize(("steps", "status"), [(-2, 200), (1, 302), (2, 200)])
def test_clocks_may_differ_by_half_a_minute(guarded: Somebody, steps: int, status: int) -> None:
    assert guarded.app is not None
    guarded.sign_in()

    assert guarded.send_code(guarded.app.code(steps)).status_code == status


def test_a_recovery_code_is_good_once(guarded: Somebody) -> None:
    code, second = guarded.codes[3], guarded.new_browser()
    guarded.sign_in()
    assert guarded.send_code(code).status_code == 302

    guarded.sign_in(client=second)

    assert guarded.send_code(code, second).status_code == 200
    assert guarded.send_code(guarded.codes[4], second).status_code == 302
    found = get_factor(guarded.user)
    assert found is not None and found.n_codes == 8


@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_two_who_send_one_code_at_once_one_gets_in(guarded: Somebody, kind: str) -> None:
    from evalsvc.accounts.signing_in.factors import take_code

    assert guarded.app is not None
    code = guarded.app.code() if kind == "app" else guarded.codes[0]
    gate, taken = threading.Barrier(4), []

    def send() -> None:
        gate.wait()
        try:
            taken.append(take_code(user=guarded.user, code=code))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(one is not None for one in taken) == [False, False, False, True]


def test_ten_wrong_codes_close_the_door_wherever_they_come_from(guarded: Somebody, alice: Caller) -> None:
    assert guarded.app is not None
    elsewhere = Client(REMOTE_ADDR="10.9.9.9")
    for client in (guarded.client, elsewhere):
        guarded.sign_in(client=client)
        assert [guarded.send_code("000000", client).status_code for _ in range(5)] == [200] * 5

    locked = guarded.send_code(guarded.app.code())

    assert locked.status_code == 429 and 0 < int(locked["Retry-After"]) <= 900
    assert not is_signed_in(guarded.client)
    assert trail_of(alice, guarded.user)[-1] == "signin.locked"


def test_a_code_without_a_password_is_nobodys(guarded: Somebody) -> None:
    assert guarded.app is not None

    answer = guarded.send_code(guarded.app.code())

    assert (answer.status_code, answer["Location"]) == (302, "/console/sign-in")


def test_a_password_waits_ten_minutes_for_its_code(guarded: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    assert guarded.app is not None
    guarded.sign_in()
    late = time.time() + 601
    with monkeypatch.context() as patch:
        patch.setattr("allauth.account.internal.stagekit.time.time", lambda: late)
        assert guarded.client.get(CODE)["Location"] == "/console/sign-in"


def test_the_picture_is_of_the_secret_and_stands_in_the_page(ann: Somebody) -> None:
    page = ann.enter().get(f"{YOU}/factor")
    text = page.content.decode()

    assert '<svg class="qr" role="img"' in text and "style=" not in text
    assert page["Cache-Control"].count("no-store") == 1
    assert len(secret_of(text)) == 32


def test_the_secret_is_encrypted_where_it_waits_and_where_it_stays(ann: Somebody, clock: Clock) -> None:
    from allauth.mfa.models import Authenticator

    ann.enter()
    secret = secret_of(ann.client.get(f"{YOU}/factor").content.decode())
    assert secret not in str(dict(ann.client.session))

    ann.set_up(clock)

    rows = Authenticator.objects.filter(user_id=ann.user.pk)
    assert len(rows) == 2
    assert not any(secret in str(row.data) or codes in str(row.data) for row in rows for codes in ann.codes)
    assert all(
        value.startswith("gAAAA") for row in rows for name, value in row.data.items() if name in ("secret", "seed")
    )


def test_without_keys_there_is_no_second_factor(ann: Somebody) -> None:
    from django.test import override_settings

    ann.enter()
    with override_settings(ENCRYPTION_KEYS=[]):
        answer = ann.client.get(f"{YOU}/factor")

    assert answer.status_code == 503 and "ENCRYPTION_KEYS" in answer.content.decode()


def test_a_wrong_first_code_switches_nothing_on(ann: Somebody, clock: Clock) -> None:
    ann.enter()
    secret = secret_of(ann.client.get(f"{YOU}/factor").content.decode())

    answer = ann.post("/factor", code="123456", proof=PASSWORD)

    assert "Wrong code" in answer.content.decode()
    assert secret_of(answer.content.decode()) == secret, "the app keeps what it has read"
    assert get_factor(ann.user) is None


@pytest.mark.parametrize("path", ["/factor", "/factor/off", "/factor/codes"])
def test_nothing_changes_without_the_password(guarded: Somebody, path: str) -> None:
    guarded.enter()
    if path == "/factor":
        guarded = Somebody(new_user(password=PASSWORD))
        guarded.enter()
    before = get_factor(guarded.user)

    answer = guarded.post(path, code="123456", proof="wrong")

    assert answer.status_code == 302
    assert "Nothing was changed" in guarded.client.get(YOU).content.decode()
    assert (get_factor(guarded.user) is None) == (before is None)


def test_it_is_switched_off(guarded: Somebody, alice: Caller) -> None:
    guarded.enter()

    guarded.post("/factor/off", proof=PASSWORD)

    assert get_factor(guarded.user) is None
    assert trail_of(alice, guarded.user)[-1] == "factor.switched_off"
    assert guarded.sign_in(client=guarded.new_browser())["Location"] == "/console/"


def test_new_recovery_codes_end_the_old_ones(guarded: Somebody) -> None:
    guarded.enter()
    new = codes_of(guarded.post("/factor/codes", proof=PASSWORD).content.decode())
    second = guarded.new_browser()
    guarded.sign_in(client=second)

    assert len(set(new) - set(guarded.codes)) == 10
    assert guarded.send_code(guarded.codes[0], second).status_code == 200
    assert guarded.send_code(new[0], second).status_code == 302
    assert not re.findall(r"\d{5}-\d{5}", guarded.client.get(YOU).content.decode()), "shown once"


def test_switching_it_on_ends_sessions_that_began_without_it(ann: Somebody, clock: Clock) -> None:
    other = ann.enter(ann.new_browser())
    ann.enter()

    ann.set_up(clock)

    assert not is_signed_in(other) and is_signed_in(ann.client)


def test_somebody_elses_secret_is_not_mine(ann: Somebody, guarded: Somebody, clock: Clock) -> None:
    other = Somebody(new_user(password=PASSWORD))
    other.enter()
    other.set_up(clock)
    assert other.app is not None
    clock.next_step()
    guarded.sign_in()

    assert guarded.send_code(App(other.app.secret, clock).code()).status_code == 200


def test_secrets_move_to_a_new_key(guarded: Somebody) -> None:
    from cryptography.fernet import Fernet
    from django.conf import settings
    from django.test import override_settings

    from evalsvc.accounts.signing_in.factors import reencrypt_factors

    assert guarded.app is not None
    new = Fernet.generate_key().decode()
    with override_settings(ENCRYPTION_KEYS=[new, *settings.ENCRYPTION_KEYS]):
        n, unreadable = reencrypt_factors()
    assert n >= 2 and unreadable == []
    with override_settings(ENCRYPTION_KEYS=[new]):
        guarded.sign_in()
        assert guarded.send_code(guarded.app.code()).status_code == 302
    with override_settings(ENCRYPTION_KEYS=[*settings.ENCRYPTION_KEYS, new]):
        reencrypt_factors()
