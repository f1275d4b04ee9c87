// In the head of every page, before Streamlit's own script: who opens the dashboard's plain address comes to the page
// that this browser showed last, as long as it is the same folder of runs. A reload, the way back and a link from one of
// our own pages stay where they lead.
{
  const key = "rankscope last page of FOLDER";
  const here = () => location.pathname + location.search;
  const how = performance.getEntriesByType("navigation")[0]?.type;
  const from = document.referrer && new URL(document.referrer).origin === location.origin;
  const last = localStorage.getItem(key) ?? "/";
  if (here() === "/" && how === "navigate" && !from && last.startsWith("/") && !last.startsWith("//") && last !== "/") {
    location.replace(last);
  } else {
    for (const kind of ["pagehide", "visibilitychange"]) addEventListener(kind, () => localStorage.setItem(key, here()));
  }
}
