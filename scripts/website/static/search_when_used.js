// The generator's script asks for the index of the search when a page opens; here it waits until somebody searches.
const { open, send } = XMLHttpRequest.prototype;
const used = new Promise((go) => addEventListener("focusin", ({ target }) => target.closest(".md-search") && go()));
XMLHttpRequest.prototype.open = function (method, address) {
  if (address.endsWith("search.json")) this.send = () => used.then(() => send.call(this));
  open.call(this, method, address);
};
