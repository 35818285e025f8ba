// One stream of events for all tabs: browsers open six connections a server, and a stream holds one of them.
'use strict';
const ports = new Map(), last = new Map();
let stream, asked = '';
const tell = (data) => { for (const [port, topic] of ports) if (topic) port.postMessage(data); };
const renew = () => {
  const topics = [...new Set([...ports.values()].filter(Boolean))].sort();
  const query = topics.map((topic) => 'topic=' + encodeURIComponent(topic)).join('&');
  if (query === asked && stream && stream.readyState !== 2) return;
  stream?.close();
  stream = undefined;
  asked = query;
  // What is no longer followed is not up to date.
  for (const topic of last.keys()) if (!topics.includes(topic)) last.delete(topic);
  if (!query) return;
  stream = new EventSource('/events?' + query);
  stream.onopen = () => tell({ state: 'open' });
  stream.onerror = () => tell({ state: 'lost' });
  stream.addEventListener('change', (event) => { const data = JSON.parse(event.data); last.set(data.topic, data.version); tell(data); });
};
onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    ports.set(port, data.topic);
    if (!data.topic) ports.delete(port);
    // What was heard before this tab was there.
    if (last.has(data.topic)) port.postMessage({ topic: data.topic, version: last.get(data.topic) });
    if (stream?.readyState === 1) port.postMessage({ state: 'open' });
    renew();
  };
};
