// Before plotly: it writes styles in two ways that the page's policy refuses, and for which there is a way that it allows.

const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style" && this.style) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

// A style sheet for maps, which no figure here is.
const appendChild = Node.prototype.appendChild;
HTMLHeadElement.prototype.appendChild = function (child) {
  return child instanceof HTMLStyleElement && child.textContent ? child : appendChild.call(this, child);
};
