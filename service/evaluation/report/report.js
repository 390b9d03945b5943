// Filters failed questions by layer and slice. Without it the page reads the same, and has no filters.
"use strict";
const form = document.getElementById("filters");
if (form) {
  const questions = [...document.querySelectorAll("#failed > .asked")].map((shown) => ({
    shown,
    within: JSON.parse(shown.dataset.in),
  }));
  const choices = [...form.querySelectorAll("select")];
  const filter = () => {
    for (const { shown, within } of questions) {
      shown.hidden = choices.some((choice) => choice.value && within[choice.name] !== choice.value);
    }
    const left = questions.filter(({ shown }) => !shown.hidden).length;
    form.querySelector("output").value = `${left} of ${questions.length} shown`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
