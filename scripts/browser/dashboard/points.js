// The dashboard's control of points, which is the one of the notebooks.

import points from "../widgets/points.js";
import { component } from "./model.js";

export default component(points.render);
