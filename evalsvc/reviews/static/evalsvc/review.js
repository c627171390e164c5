// Keys for whoever answers many items. Without this script the page does the same by its buttons.
"use strict";

const typing = (target) => target.closest("textarea, input:not([type=radio]), select") !== null;

// The first question that has no answer yet is the one that a digit answers.
function choice(digit) {
    const button = document.querySelector(`button[data-key="${digit}"]`);
    if (button) {
        return button;
    }
    const open = [...document.querySelectorAll(".choices")].filter((one) => !one.querySelector(":checked"));
    return open.length ? open[0].querySelector(`input[data-key="${digit}"]`) : null;
}

document.addEventListener("keydown", (event) => {
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
        found.focus();
        found.click();
    }
});

// One press is one answer: a second one before the next page is there would be a late answer to the same item.
document.addEventListener("submit", (event) => {
    if (document.body.dataset.sent) {
        event.preventDefault();
    }
    document.body.dataset.sent = "1";
});
window.addEventListener("pageshow", () => delete document.body.dataset.sent);
