// What pages do besides being read: theme, keys, the rest of a long message, and being up to date.
// All that it shows comes from this server, as pages that are escaped there; nothing here makes markup.
'use strict';
(() => {
  const root = document.documentElement;
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const theme = kept('uwf-theme');
  if (theme === 'dark' || theme === 'light') root.dataset.theme = theme;

  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const turn = () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('uwf-theme', root.dataset.theme); } catch { /* it lasts for this page */ }
  };

  // ---- the page as it is now, in the place of the page as it was
  const page = async (address) => {
    const answer = await fetch(address, { headers: { 'X-Uwf-Update': '1' }, cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.status);
    return new DOMParser().parseFromString(await answer.text(), 'text/html');
  };
  const opened = (part) => [...part.querySelectorAll('details')].map((one) => [key(one), one.open]);
  // A step by its name, what is inside of it by the way there.
  const key = (one) => {
    const way = [];
    for (let at = one; at; at = at.parentElement) {
      if (at.dataset.key) { way.push(at.dataset.key); break; }
      if (at.dataset.live !== undefined) break;
      way.push(at.tagName + [...(at.parentElement?.children || [])].indexOf(at));
    }
    return way.join('/');
  };
  const shown = new Map();
  let busy = false, again = false;
  const update = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const now = await page(location.href);
      for (const part of now.querySelectorAll('[data-live]')) {
        const old = document.getElementById(part.id);
        const text = part.innerHTML;
        if (!old || shown.get(part.id) === text) continue;
        if (!shown.has(part.id) && old.innerHTML === text) { shown.set(part.id, text); continue; }
        // Of the same question the form stays as it is; what was typed for another one is kept, and where it goes is to be looked at.
        const typed = old.querySelector('[data-keep]'), field = part.querySelector('[data-keep]');
        if (typed && field && typed.dataset.keep === field.dataset.keep && (typed.value || typed === document.activeElement)) continue;
        const was = new Map(opened(old));
        const focus = document.activeElement && old.contains(document.activeElement) ? key(document.activeElement) : null;
        const adopted = document.importNode(part, true);
        const empty = adopted.querySelector('[data-keep]');
        if (typed && empty) empty.value = typed.value;
        old.replaceChildren(...adopted.childNodes);
        for (const one of old.querySelectorAll('details')) { const open = was.get(key(one)); if (open !== undefined) one.open = open; }
        if (focus) for (const one of old.querySelectorAll('a,summary,button')) if (key(one) === focus) { one.focus({ preventScroll: true }); break; }
        shown.set(part.id, text);
      }
      document.body.dataset.version = now.body.dataset.version;
      document.title = now.title;
    } catch { /* the next event asks again */ } finally {
      busy = false;
      if (again) { again = false; update(); }
    }
  };
  const heard = (topic, version) => {
    const { topic: ours, version: has } = document.body.dataset;
    if (topic === ours && version !== has) update();
  };

  // ---- events: one stream for all tabs where browsers can share one, else one a tab; none while it is hidden
  const status = (text) => { const place = document.getElementById('link'); if (place) place.textContent = text; };
  const follow = (topic) => {
    let port, stream;
    const hear = ({ data }) => { if (data.state) status(data.state === 'open' ? 'live' : 'not connected'); else heard(data.topic, data.version); };
    const begin = () => {
      if (document.hidden) return;
      if (typeof SharedWorker === 'function') {
        if (!port) { port = new SharedWorker('/assets/worker.js').port; port.onmessage = hear; }
        port.postMessage({ topic });
        return;
      }
      stream?.close();
      stream = new EventSource('/events?topic=' + encodeURIComponent(topic));
      stream.onopen = () => status('live');
      stream.onerror = () => status('not connected');
      stream.addEventListener('change', (event) => hear({ data: JSON.parse(event.data) }));
    };
    const end = () => { port?.postMessage({ topic: null }); stream?.close(); stream = undefined; status('paused'); };
    document.addEventListener('visibilitychange', () => (document.hidden ? end() : begin()));
    addEventListener('pagehide', end);
    addEventListener('pageshow', (event) => { if (event.persisted) begin(); });
    begin();
  };

  // ---- how long it takes
  const tick = () => {
    for (const place of document.querySelectorAll('[data-since]')) {
      const seconds = Math.max(0, Math.round((Date.now() - Number(place.dataset.since)) / 1000));
      place.textContent = seconds < 60 ? seconds + ' s' : Math.floor(seconds / 60) + 'm ' + String(seconds % 60).padStart(2, '0') + 's';
    }
  };

  // ---- keys
  const seen = (one) => one.offsetParent !== null;
  const step = (by) => {
    const rows = [...document.querySelectorAll('.row')].filter(seen);
    const at = rows.findIndex((row) => row === document.activeElement || row.closest('li')?.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    o: () => document.activeElement?.closest('li')?.querySelector('.open a')?.click(),
    g: () => location.assign('/'),
    u: () => { const up = [...document.querySelectorAll('[data-up]')].pop(); if (up) up.click(); },
    t: turn,
    '/': () => document.getElementById('search')?.focus(),
    '?': () => document.getElementById('help')?.showModal(),
  };
  const press = (event) => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || document.querySelector('dialog[open]')) return;
    const does = keys[event.key];
    if (does) { event.preventDefault(); does(); }
  };

  document.addEventListener('DOMContentLoaded', () => {
    for (const [id, does] of [['theme', turn], ['keys', keys['?']]]) {
      const button = document.getElementById(id);
      if (button) { button.hidden = false; button.addEventListener('click', does); }
    }
    document.addEventListener('keydown', press);
    document.addEventListener('click', async (event) => {
      const link = event.target.closest?.('a[data-load]');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const place = link.closest('.more').previousElementSibling;
      try {
        const whole = (await page(link.href)).getElementById('whole');
        place.textContent = whole.textContent;
        link.closest('.more').remove();
      } catch { location.assign(link.href); }
    });
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const inside = target && target.querySelector('details');
    if (inside) inside.open = true;
    tick();
    setInterval(() => { if (!document.hidden) tick(); }, 1000);
    const { topic } = document.body.dataset;
    if (topic) follow(topic);
  });
})();
