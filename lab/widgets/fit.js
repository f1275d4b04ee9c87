// plotly measures its figure once, often before the notebook has put it on the page: too narrow, titles on top of each
// other. This tells it to measure again when the cell gets its width, and whenever that changes. Draws nothing.
function render({ el }) {
  el.style.display = "none";
  let width = 0;
  const watch = new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 2) return;
    width = entry.contentRect.width;
    if (width > 0) requestAnimationFrame(() => window.dispatchEvent(new Event("resize")));
  });
  const start = requestAnimationFrame(() => el.parentElement && watch.observe(el.parentElement));
  return () => {
    cancelAnimationFrame(start);
    watch.disconnect();
  };
}
export default { render };
