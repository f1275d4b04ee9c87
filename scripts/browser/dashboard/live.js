// A figure that the dashboard's page computes. The code that draws it is fetched once.

import { component, compute } from "./model.js";

export default component(({ el, model }) => compute(el, model));
