// A span that is drawn across the chart of a history chooses the ends of the form below it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("[data-brush]");
    const figure = form?.previousElementSibling;
    const area = figure?.querySelector(".plot .area");
    if (!area) {
        return;
    }
    const first = form.elements.namedItem("first");
    const last = form.elements.namedItem("last");
    const place = (select) => Number(select.selectedOptions[0].dataset.place);
    const told = () => {
        const n = place(last) - place(first) + 1;
        form.querySelector("output").textContent = n > 0 ? `n = ${n}` : "ends before it begins";
    };
    form.addEventListener("change", told);
    told();

    const span = document.createElement("div");
    span.className = "span";
    span.hidden = true;
    area.closest(".plot").append(span);
    area.classList.add("brushed");
    let began = null;

    const drawn = (x) => {
        const plot = area.closest(".plot").getBoundingClientRect();
        const box = area.getBoundingClientRect();
        const ends = [began, x].map((one) => Math.min(Math.max(one, box.left), box.right)).sort((a, b) => a - b);
        span.style.left = `${ends[0] - plot.left}px`;
        span.style.width = `${ends[1] - ends[0]}px`;
        span.hidden = false;
        return ends;
    };
    // The ends whose points of the running mean lie within.
    const chosen = ([from, to]) => {
        const points = [...figure.querySelectorAll("[data-of='0'] .point")].map((point) => {
            const box = point.getBoundingClientRect();
            return box.x + box.width / 2;
        });
        const within = points.flatMap((x, i) => (x >= from && x <= to ? [i] : []));
        if (within.length) {
            first.selectedIndex = within[0];
            last.selectedIndex = within[within.length - 1];
            told();
        }
    };
    area.addEventListener("pointerdown", (event) => {
        if (event.isPrimary && event.button === 0) {
            began = event.clientX;
            area.setPointerCapture(event.pointerId);
        }
    });
    area.addEventListener("pointermove", (event) => {
        if (began !== null && Math.abs(event.clientX - began) > 4) {
            chosen(drawn(event.clientX));
        }
    });
    const ended = () => { began = null; };
    area.addEventListener("pointerup", ended);
    area.addEventListener("pointercancel", ended);
});
