// What moves on the admin's pages. Runs after htmx has come and before htmx starts.
"use strict";

htmx.config.allowEval = false; // our pages hand it no code
htmx.config.includeIndicatorStyles = false; // a style element, for indicators that no page has

// Reloading the answer to a form would send the form again: from now on the page has another address.
document.addEventListener("DOMContentLoaded", () => {
    const shown = document.querySelector("[data-address]");
    if (shown) {
        history.replaceState(null, "", shown.dataset.address);
    }
});

// A field that searches is named by its label; what it holds alone is no name, and may be nothing.
const nameFields = () => {
    for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
        const [label] = select.labels;
        if (!label) {
            continue;
        }
        label.id ||= `${select.id}-label`;
        for (const part of select.nextElementSibling.querySelectorAll("[role=combobox], [role=textbox]")) {
            part.setAttribute("aria-labelledby", `${label.id} select2-${select.id}-container`);
        }
    }
};

// jQuery makes the fields in a turn of its own after the page is read, which may come after `load`: wait in its queue.
window.addEventListener("load", () => window.django?.jQuery?.(nameFields));
