// The queue of a review: keys, one press for one answer, and the focus on the item that came.
// Without this script the page does the same by its buttons, and without htmx each item is a page.
"use strict";

const typing = (target) => target.closest("textarea, input:not([type=radio]), select") !== null;

// The first question that has no answer yet is the one that a digit answers.
const choice = (digit) => {
    const button = document.querySelector(`button[data-key="${digit}"]`);
    if (button) {
        return button;
    }
    const open = [...document.querySelectorAll(".choices")].filter((one) => !one.querySelector(":checked"));
    return open.length ? open[0].querySelector(`input[data-key="${digit}"]`) : null;
};

const press = (found) => {
    found.focus();
    found.click();
    const text = found.matches("summary") && found.parentElement.querySelector("textarea");
    if (text) {
        found.parentElement.open = true;
        text.focus();
    }
};

document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("textarea, input")) {
        event.target.blur();
        return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target)) {
        return;
    }
    if (event.key === "?") {
        const keys = document.getElementById("keys");
        if (keys) {
            keys.open = !keys.open;
        }
        return;
    }
    const letter = /^[a-z]$/i.test(event.key) ? event.key.toLowerCase() : "";
    const found = /^[1-9]$/.test(event.key) ? choice(event.key) : document.querySelector(`[data-letter="${letter}"]`);
    if (found) {
        event.preventDefault();
        press(found);
    }
});

// One press is one answer: a second one before the next item is there would be a late answer to the same one.
// In the capture phase, before htmx hears of it.
document.addEventListener("submit", (event) => {
    if (document.body.dataset.sent) {
        event.preventDefault();
        event.stopImmediatePropagation();
    }
    document.body.dataset.sent = "1";
}, true);
window.addEventListener("pageshow", () => delete document.body.dataset.sent);

const tell = (text, look) => {
    const place = document.getElementById("said");
    place.textContent = text;
    place.className = look;
};

// The next item is there: at its top, told to whoever does not see it, and counted. Not before htmx has taken its form up:
// an answer that is pressed in between would be sent as a page of its own.
document.addEventListener("htmx:afterSettle", () => {
    delete document.body.dataset.sent;
    document.body.dataset.shown = String(Number(document.body.dataset.shown || 0) + 1);
    scrollTo(0, 0);
    document.getElementById("content")?.focus();
    tell(document.querySelector(".progress span")?.textContent || "", "unseen");
});

// What is no item is a page: closed, ended, signed out, or somebody else's.
document.addEventListener("htmx:beforeSwap", (event) => {
    const answered = new URL(event.detail.xhr.responseURL || location.href, location.href).pathname;
    const { status } = event.detail.xhr;
    if (answered !== location.pathname || (status >= 400 && status !== 422)) {
        event.detail.shouldSwap = false;
        location.assign(location.pathname);
    } else if (status === 422) {
        event.detail.shouldSwap = true;
        event.detail.isError = false;
    }
});

document.addEventListener("htmx:sendError", () => {
    delete document.body.dataset.sent;
    tell("The connection is lost. Your answer was not sent; press again.", "told");
});
