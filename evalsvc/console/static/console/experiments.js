// Boards that move and examples that are walked through. Without it both still show all they say.
"use strict";

// Unchanged: the service says so by 304, and there is nothing to put in.
document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status === 304) {
        event.detail.shouldSwap = false;
        event.detail.isError = false;
    }
});

// The board stands still under the pointer: a row that moves away is a wrong press.
document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.matches("#live") && event.target.querySelector("tbody:hover, .ticked:hover, .plot:hover")) {
        event.preventDefault();
    }
});

// What was ticked and folded out stays so when the board is replaced.
let kept = null;
document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target.id === "live" && event.detail.shouldSwap) {
        kept = {
            ticked: [...document.querySelectorAll("#live input[type=checkbox]:checked")].map((box) => box.value),
            open: [...document.querySelectorAll("#live details[open][data-keep]")].map((part) => part.dataset.keep),
        };
    }
});
document.addEventListener("htmx:afterSwap", () => {
    if (!kept) {
        return;
    }
    for (const box of document.querySelectorAll("#live input[type=checkbox]")) {
        box.checked = kept.ticked.includes(box.value);
    }
    for (const part of document.querySelectorAll("#live details[data-keep]")) {
        part.open = kept.open.includes(part.dataset.keep);
    }
    kept = null;
});

// j and k walk through configs; s stops the one that has the focus, or resumes it.
document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
        return;
    }
    const row = document.activeElement?.closest("[data-config]");
    if (event.key === "s" && row) {
        row.querySelector("[data-key=s]")?.click();
    } else if (event.key === "j" || event.key === "k") {
        const rows = [...document.querySelectorAll("#live [data-config]")];
        rows[Math.min(Math.max(rows.indexOf(row) + (event.key === "j" ? 1 : -1), 0), rows.length - 1)]?.focus();
    }
});

// n and p walk through examples.
document.addEventListener("keydown", (event) => {
    const step = { n: 1, p: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
        return;
    }
    const examples = [...document.querySelectorAll("[data-example]")];
    if (!examples.length) {
        return;
    }
    const here = examples.indexOf(document.activeElement?.closest("[data-example]"));
    const next = here < 0 && step < 0 ? -1 : here + step;
    if (next >= 0 && next < examples.length) {
        examples[next].focus();
        examples[next].scrollIntoView({ block: "start" });
    } else {
        document.querySelector(`#examples a[rel=${step > 0 ? "next" : "prev"}]`)?.click();
    }
    event.preventDefault();
});

// After an act the page comes back to where it was done, and the keyboard with it.
document.addEventListener("DOMContentLoaded", () => {
    const place = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (place) {
        (place.querySelector("button, a") || place).focus();
    }
});
