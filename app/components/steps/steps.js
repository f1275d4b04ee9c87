// Streamlit makes an entry of the history whenever the address changes. A page that was just opened writes its state
// into its address by itself: without this that is a second entry, and the first Back seems to do nothing.

function watch(history) {
  const push = history.pushState.bind(history);
  let touched = true; // whether the person did anything since the page was opened
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => { touched = true; }, true);
  addEventListener("popstate", () => { touched = false; });
  history.pushState = (state, title, address) => {
    const other = new URL(address ?? "", location.href).pathname !== location.pathname;
    if (other || touched) push(state, title, address);
    else history.replaceState(state, title, address);
    if (other) touched = false;
  };
}

export default function () {
  if (!window.rankscopeSteps) watch(window.history);
  window.rankscopeSteps = true;
}
