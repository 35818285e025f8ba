// The pages of `uwf serve` in a real browser: `node pages.mjs PLAN.json`. The plan, written by tests/e2e/web.rs, says where the
// server is, which threads there are and where pictures go. Prints a line a check; the first that fails ends it.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const { url, origin, pictures } = plan;
const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const browser = await chromium.launch({ executablePath: plan.chromium, args });

// Every request and every error of every page: nothing may go elsewhere, and nothing may fail in silence.
const elsewhere = [], errors = [];
const context = async (options = {}) => {
  const made = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  made.setDefaultTimeout(30_000);
  made.on('request', (request) => { if (!request.url().startsWith(origin)) elsewhere.push(request.url()); });
  made.on('weberror', (error) => errors.push(String(error.error())));
  const page = await made.newPage();
  await page.goto(url);
  assert.equal(page.url(), origin + '/', 'the token is gone from the address');
  await page.close();
  return made;
};
const open = async (made, path) => {
  const page = await made.newPage();
  page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
  await page.goto(origin + path);
  return page;
};

// Under load Chromium now and then says "Unable to capture screenshot", and does it when asked again.
const picture = async (page, name, options = {}) => {
  for (let left = 4; ; left -= 1) {
    try {
      return await page.screenshot({ path: `${pictures}/${name}.png`, ...options });
    } catch (error) {
      if (left === 0 || !/Unable to capture/.test(String(error))) throw error;
      await page.waitForTimeout(500);
    }
  }
};

const live = (page) => page.locator('#link', { hasText: 'live' }).waitFor();

// What axe has to say of a page with everything unfolded.
const violations = async (page) => {
  for (const fold of await page.locator('details').all()) await fold.evaluate((one) => { one.open = true; });
  await page.evaluate(axe);
  return page.evaluate(async () => (await globalThis.axe.run()).violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 2).map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary) })));
};

// What a page takes that is as small as a page can be: bounds of time are told beside it, machines differ.
const timed = async (page, path, ready) => {
  const begun = performance.now();
  await page.goto(origin + path);
  await page.locator(ready).first().waitFor();
  return performance.now() - begun;
};
const floor = async (page) => {
  const times = [];
  for (let n = 0; n < 5; n += 1) times.push(await timed(page, '/?q=no-thread-has-these-words', '.empty'));
  return times.sort((one, other) => one - other)[2];
};

const checks = {
  async 'the pages have their pictures, and axe has nothing serious to say'({ solved, asks, failed }) {
    const views = { light: {}, dark: { colorScheme: 'dark' }, 'light-400': { viewport: { width: 400, height: 900 } }, 'dark-400': { colorScheme: 'dark', viewport: { width: 400, height: 900 } } };
    const paths = { list: '/', thread: `/t/${solved}`, step: `/t/${solved}/s/3`, asks: `/t/${asks}`, failed: `/t/${failed}`, missing: '/none' };
    for (const [view, options] of Object.entries(views)) {
      const made = await context({ ...options, bypassCSP: true, reducedMotion: 'reduce' });
      for (const [name, path] of Object.entries(paths)) {
        const page = await made.newPage();
        await page.goto(origin + path);
        await picture(page, `web-${name}-${view}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(wide, 0, `${name}, ${view}: scrolls sideways`);
        // Both colours, and both widths.
        if (view === 'dark' || view === 'light-400') { await page.close(); continue; }
        const found = await violations(page);
        const serious = found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
        assert.deepEqual(serious, [], `${name}, ${view}`);
        await page.close();
      }
      await made.close();
    }
  },

  async 'a graph is a picture with states, and a click on a node leads to its steps'({ solved }) {
    const made = await context();
    const page = await open(made, `/t/${solved}`);
    assert.equal(await page.locator('svg.graph .node.done').count(), 4, 'three roles, and the end');
    assert.match(await page.locator('svg.graph .node', { hasText: 'reviewer' }).locator('title').textContent(), /has played/);
    await page.locator('svg.graph a', { hasText: 'reviewer' }).click();
    await page.waitForURL(/role=reviewer/);
    assert.equal(await page.locator('.steps > li').count(), 2);
    assert.equal(await page.locator('.steps > li', { hasText: 'rejected' }).count(), 1);
    await page.goto(`${origin}/t/${solved}/s/3`);
    assert.equal(await page.locator('.call.bad > details[open]').count(), 1, 'what failed is not folded');
    await page.goto(`${origin}/t/${solved}/s/2`);
    const [came] = await page.locator('.diff .add').allTextContents();
    assert.match(came, /^\+for n in "\$1" "\$2" "\$3"/);
    await made.close();
  },

  async 'a step is on the page within a second, and the node that plays pulses'({ runs, go }) {
    const made = await context();
    const [page, list] = [await open(made, `/t/${runs}`), await open(made, '/?status=running')];
    for (const one of [page, list]) await live(one);
    await page.locator('svg.graph.active .node.current', { hasText: 'worker' }).waitFor();
    const moves = await page.locator('svg.graph.active .current .shape').evaluate((shape) => getComputedStyle(shape).animationName);
    assert.equal(moves, 'pulse');
    await picture(page, 'web-running');
    // What is unfolded, and where the keyboard is, stays so.
    assert.equal(await list.locator('.thread').count(), 1);
    writeFileSync(go, '');
    const begun = performance.now();
    await page.locator('#steps .step', { hasText: 'more' }).waitFor();
    const took = performance.now() - begun;
    console.log(`  from the sign to the step on the page: ${took.toFixed(0)} ms, the agent's own start within`);
    await page.locator('h1 .s-end').waitFor();
    await list.locator('.empty').waitFor();
    assert.equal(await page.locator('svg.graph.active').count(), 0);
    assert.ok(took < 5_000 + plan.patience, `${took} ms`);
    await made.close();
  },

  async 'a suspended thread is answered by its form, and goes on'({ asks }) {
    const made = await context();
    const page = await open(made, `/t/${asks}`);
    await page.locator('#answer textarea').fill('Use the main branch.\nAnd <b>nothing</b> else.');
    await page.locator('#answer button').click();
    await page.waitForURL(`${origin}/t/${asks}`);
    await page.locator('h1 .s-end').waitFor();
    await page.locator('.step summary', { hasText: 'done' }).last().waitFor();
    assert.equal(await page.locator('#answer').count(), 0);
    await made.close();
  },

  async 'a form of another page, or without its secret, is refused'({ asks }) {
    const made = await context();
    const page = await open(made, `/t/${asks}`);
    const post = (form, headers = {}) => made.request.post(`${origin}/t/${asks}/stop`, { form, headers, maxRedirects: 0 });
    assert.equal((await post({ csrf: 'wrong' }, { origin })).status(), 403);
    assert.equal((await post({}, { origin: 'http://evil.example' })).status(), 403);
    assert.equal((await post({})).status(), 403);
    // Another site: the cookie does not go with it, nor could it be read.
    const foreign = await browser.newContext();
    const page2 = await foreign.newPage();
    const answer = await page2.goto(`${origin}/t/${asks}`);
    assert.equal(answer.status(), 401);
    await foreign.close();
    assert.equal(await page.evaluate(() => document.cookie), '', 'scripts cannot read the session');
    await made.close();
  },

  async 'what others wrote never runs, and the policy holds'({ hostile }) {
    const made = await context();
    for (const path of ['/', `/t/${hostile}`, `/t/${hostile}/s/1`, `/t/${hostile}/s/1/m/2`, '/?q=%3Cscript%3Epwned=1%3C/script%3E']) {
      const page = await open(made, path);
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined, path);
      assert.equal(await page.locator('script').count(), 1, path);
      assert.equal(await page.locator('img, iframe, object, embed, a[href^="javascript:"]').count(), 0, path);
      await page.close();
    }
    const page = await open(made, `/t/${hostile}`);
    assert.match(await page.locator('h1').textContent(), /<script>/, 'it is there to be read');
    const before = errors.length;
    const refused = await page.evaluate(async () => {
      const seen = [];
      document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'globalThis.pwned = 1';
      document.body.append(script);
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      document.body.append(style);
      const image = new Image();
      image.src = 'http://127.0.0.1:9/x.png';
      await fetch('http://127.0.0.1:9/').catch(() => {});
      await new Promise((done) => setTimeout(done, 300));
      return [...new Set(seen)].sort();
    });
    assert.deepEqual(refused, ['connect-src', 'img-src', 'script-src-elem', 'style-src-elem']);
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    // What was refused here was ours.
    errors.length = before;
    elsewhere.length = 0;
    await made.close();
  },

  async 'a thread is one file, which needs nobody'({ file }) {
    const made = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    const asked = [];
    made.on('request', (request) => asked.push(request.url()));
    const page = await made.newPage();
    await page.goto('file://' + file);
    assert.deepEqual(asked, ['file://' + file]);
    for (const fold of await page.locator('details').all()) await fold.evaluate((one) => { one.open = true; });
    assert.equal(await page.locator('script, img, iframe, link').count(), 0);
    assert.equal(await page.locator('.call.bad').count(), 1);
    assert.equal(await page.locator('svg.graph .node').count(), 4);
    assert.equal(await page.locator('h1').evaluate((one) => getComputedStyle(one).fontWeight), '700');
    await picture(page, 'web-file');
    await made.close();
  },

  async 'evaluations are pages and files, and what is in them is text'({ report, diff, before, after }) {
    const views = { light: {}, dark: { colorScheme: 'dark' }, 'light-400': { viewport: { width: 400, height: 900 } }, 'dark-400': { colorScheme: 'dark', viewport: { width: 400, height: 900 } } };
    const served = { 'eval-list': '/evaluations', 'eval-page': `/evaluation/${before}`, 'eval-case': `/evaluation/${before}`, 'eval-both': `/evaluation/${after}/from/${before}` };
    const files = { 'eval-report': report, 'eval-diff': diff };
    const looked = async (page, name, view) => {
      if (name === 'eval-case') await page.locator('.matrix a').last().click();
      if (name === 'eval-case') await page.locator('.case').last().evaluate((one) => { one.open = true; one.scrollIntoView(); });
      await picture(page, `${name}-${view}`, { fullPage: name !== 'eval-case' });
      // Both colours, and both widths.
      if (view === 'light' || view === 'dark-400') assert.deepEqual(await violations(page), [], `${name}, ${view}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${name}, ${view}: scrolls sideways`);
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined, name);
      assert.equal(await page.locator('img, iframe, object, embed, a[href^="javascript:"]').count(), 0, name);
      if (name !== 'eval-list') assert.match(await page.locator('body').textContent(), /<script>globalThis\.pwned=1<\/script>/, `${name}: it is there to be read`);
    };
    for (const [view, options] of Object.entries(views)) {
      const made = await context({ ...options, bypassCSP: true, reducedMotion: 'reduce' });
      for (const [name, path] of Object.entries(served)) {
        const page = await open(made, path);
        await looked(page, name, view);
        assert.equal(await page.locator('script').count(), 1, name);
        await page.close();
      }
      await made.close();
      const alone = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options, bypassCSP: true });
      const asked = [];
      alone.on('request', (request) => asked.push(request.url()));
      for (const [name, file] of Object.entries(files)) {
        const page = await alone.newPage();
        await page.goto('file://' + file);
        await looked(page, name, view);
        assert.equal(await page.locator('script, link, form').count(), 0, name);
        await page.close();
      }
      assert.deepEqual(asked, Object.values(files).map((file) => 'file://' + file), 'a file needs nobody');
      await alone.close();
    }
  },

  async 'the remote is a page that changes by itself, and what is in it is text'({ dead }) {
    const views = { light: {}, 'dark-400': { colorScheme: 'dark', viewport: { width: 400, height: 900 } } };
    for (const [view, options] of Object.entries(views)) {
      const made = await context({ ...options, bypassCSP: true, reducedMotion: 'reduce' });
      const page = await open(made, '/remote');
      await live(page);
      for (const name of ['Workers', 'Queue', 'Cost of each day', 'Dead threads']) assert.equal(await page.locator(`[aria-label="${name}"] table`).count(), 1, name);
      assert.match(await page.locator('body').textContent(), new RegExp(dead));
      await picture(page, `web-remote-${view}`, { fullPage: true });
      assert.deepEqual(await violations(page), [], view);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${view}: scrolls sideways`);
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
      assert.equal(await page.locator('img, iframe, object, embed, a[href^="javascript:"]').count(), 0);
      assert.match(await page.locator('body').textContent(), /<script>globalThis\.pwned=1<\/script>/, 'it is there to be read');
      await made.close();
    }
  },

  async 'a tenth tab does not hang'({ solved, asks, failed, hostile }) {
    const made = await context();
    const pages = [];
    for (const thread of [solved, asks, failed, hostile, solved, asks, failed, hostile, solved]) {
      pages.push(await open(made, `/t/${thread}`));
      await live(pages.at(-1));
    }
    const last = await made.newPage();
    const took = await timed(last, '/', '.thread');
    assert.ok(took < 5_000 + plan.patience, `${took} ms`);
    await live(last);
    await made.close();
  },

  async 'keys go through threads and steps'({ solved }) {
    const made = await context();
    const page = await open(made, '/');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const second = await page.locator('.thread .row').nth(1).getAttribute('href');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('href')), second);
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/t\//);
    await page.goto(`${origin}/t/${solved}`);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.steps > li:first-child > details[open]').count(), 1);
    await page.keyboard.press('o');
    await page.waitForURL(/\/s\/1$/);
    await page.keyboard.press('u');
    await page.waitForURL(/\/t\/[0-9A-Z]+(#.*)?$/);
    await page.keyboard.press('?');
    await page.locator('#help[open]').waitFor();
    await page.keyboard.press('Escape');
    const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const was = await shade();
    await page.keyboard.press('t');
    assert.notEqual(await shade(), was);
    await page.reload();
    assert.notEqual(await shade(), was, 'it is remembered');
    await page.keyboard.press('g');
    await page.waitForURL(origin + '/');
    await page.keyboard.press('/');
    await page.keyboard.type('jkg?');
    assert.equal(await page.locator('#search').inputValue(), 'jkg?');
    await made.close();
  },

  async 'a thousand threads, and a step of a thousand turns'({ many }) {
    const made = await context();
    const page = await made.newPage();
    const least = await floor(page);
    const list = await timed(page, '/', '.thread');
    assert.equal(await page.locator('.thread').count(), 100);
    const found = await timed(page, '/?q=number-7.', '.thread');
    const step = await timed(page, `/t/${many}/s/1`, '.turn');
    assert.equal(await page.locator('.turn').count(), 100);
    assert.match(await page.locator('.turn').last().textContent(), /Turn 1000/);
    console.log(`  floor ${least.toFixed(0)} ms, list ${list.toFixed(0)} ms, the oldest found ${found.toFixed(0)} ms, step ${step.toFixed(0)} ms`);
    for (const took of [list, found, step]) assert.ok(took < 1_000 + 20 * least + plan.patience, `${took} ms, floor ${least} ms`);
    await page.locator('.more a', { hasText: 'Earlier turns' }).click();
    await page.locator('#turn-900').waitFor();
    await page.locator('.call summary').first().click();
    await made.close();
  },

  async 'a long message is a click away'({ many }) {
    const made = await context();
    const page = await open(made, `/t/${many}/s/1`);
    const more = page.locator('a[data-load]').first();
    await more.evaluate((link) => { for (let at = link; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true; });
    await more.click();
    await page.getByText('the end of a long result').first().waitFor();
    assert.match(page.url(), /\/s\/1$/);
    await made.close();
  },
};

let done = 0;
try {
  for (const [name, check] of Object.entries(checks).filter(([name]) => plan.checks.some((part) => name.includes(part)))) {
    const begun = performance.now();
    await check(plan.threads);
    assert.deepEqual(elsewhere, [], `${name}: nothing is asked of another server`);
    assert.deepEqual(errors.filter((error) => !/status of (401|403|404)/.test(error)), [], `${name}: errors`);
    done += 1;
    console.log(`ok ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  }
} finally {
  await browser.close();
}
assert.ok(done > 0, 'no such check');
console.log(`${done} passed, 0 failed`);
