// A button that copies one line of Python and shows it.
function render({ model, el }) {
  const button = document.createElement("button");
  button.className = "lab-button";
  button.textContent = "Copy as code";
  const line = document.createElement("code");
  line.className = "lab-code";
  line.hidden = true;
  line.tabIndex = 0;
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  const write = () => {
    line.textContent = model.get("text");
    said.textContent = "";
  };
  model.on("change:text", write);
  write();
  button.addEventListener("click", async () => {
    line.hidden = false;
    try {
      await navigator.clipboard.writeText(model.get("text"));
      said.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(line);
      said.textContent = "selected: copy it with Ctrl+C";
    }
  });
  el.classList.add("lab-copy");
  el.append(button, line, said);
  return () => model.off("change:text", write);
}
export default { render };
