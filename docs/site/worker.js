/* A page that is opened as a file may start no worker, in which the search runs: it runs in a frame of the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      frame.addEventListener("load", () => this.start(frame.contentWindow, url), { once: true });
      document.documentElement.append(frame);
    }

    start(inside, url) {
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...paths) => paths.reduce(
        (before, path) => before.then(() => load(inside, path)), Promise.resolve());
      load(inside, url).then(() => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }

    terminate() {
      this.inside = undefined;
    }
  };
}

function load(inside, path) {
  return new Promise((done) => {
    const script = inside.document.createElement("script");
    script.src = path;
    script.addEventListener("load", done);
    inside.document.head.append(script);
  });
}
