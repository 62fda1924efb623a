/* Search in pages opened from the disk. A browser refuses a Worker there, so a hidden frame runs its script. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = (this.inside = frame.contentWindow)
      inside.document.open()
      inside.document.write("<!doctype html><body></body>")
      inside.document.close()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const load = address => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: address, onload: done, onerror: failed })
        inside.document.body.append(script)
      })
      inside.importScripts = async (...addresses) => { for (const each of addresses) await load(each) }
      this.ready = load(url)
    }
    async postMessage(data) {
      await this.ready
      this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }
    terminate() { this.inside.frameElement.remove() }
  }
}
