// The kinds of traces that the lab's figures use; lab/figures/live_page.py names them, too.
const Plotly = require("plotly.js/lib/core");
Plotly.register([
  require("plotly.js/lib/bar"), require("plotly.js/lib/heatmap"), require("plotly.js/lib/histogram2dcontour"),
  require("plotly.js/lib/table"), require("plotly.js/lib/waterfall"),
]);
module.exports = Plotly;
