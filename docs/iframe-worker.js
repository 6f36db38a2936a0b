// Browsers start no workers from disk: there the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const own = frame.contentWindow;
      own.document.open();
      own.document.write("<!doctype html><body></body>");
      own.document.close();
      own.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      const loaded = (source) => new Promise((done, failed) => {
        const script = own.document.createElement("script");
        Object.assign(script, { src: source, onload: done, onerror: failed });
        own.document.body.append(script);
      });
      own.importScripts = (...sources) => sources.reduce((before, each) => before.then(() => loaded(each)), Promise.resolve());
      this.frame = frame;
      this.ready = loaded(new URL(url, location.href).href);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
