// Fetches the map's code once (map.js and what it imports), whatever the page draws anew, and gives it the server's answer.

export default async function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".scatter");
  root.latest = [data, setTriggerValue];
  root.map ??= import(new URL(`${data.code}map.js`, location.origin).href).then(({ Scatter }) => new Scatter(root));
  (await root.map).show(...root.latest);
}
