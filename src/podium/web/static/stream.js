// Listens to what changes. The browser connects anew by itself; here it is only told what came, and how it stands.

const KINDS = ["hello", "nobody", "nodes", "queues", "samples", "days", "journal", "whys", "jobs", "gone", "ready"];

export function listen(store, { onChange, onState }) {
  const source = new EventSource("/api/stream");
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      store.apply(kind, JSON.parse(event.data));
      onChange();
    });
  }
  source.onopen = () => onState("live");
  source.onerror = async () => {
    onState("away");
    const answer = await fetch("/api/jobs/0").catch(() => null);
    if (answer && answer.status === 401) location.assign("/login");
    else if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(store, { onChange, onState }), 3000);
  };
}
