// The part of the check of the demo page that covers the width of the window.
import assert from 'node:assert/strict';
import { ask, linkIs, open, viewerIs } from './demo-kit.mjs';

// Phones, tablets and desktops, and both sides of each breakpoint.
const widths = [
  320, 360, 390, 480, 481, 600, 720, 721, 844, 845, 900, 901, 1024, 1080, 1081, 1150, 1151, 1224, 1225, 1280, 1281, 1404, 1405, 1484, 1485,
];

const longestName = 32; // characters

// mastheadFits resizes two pages, one of a user with a short name and one of an account with
// the longest possible name: while live, and with the longest label of the connection.
export async function mastheadFits(a, b) {
  const stamp = `${Date.now()}`;
  const name = stamp.padStart(longestName, 'W');
  const { register } = await ask({ id: '' }, 'mutation ($input: RegisterInput!) { register(input: $input) { token } }', {
    input: { name, password: stamp },
  });
  await Promise.all([fits(a, { id: 'Jo' }, 'Jo'), fits(b, { token: register.token }, name)]);
}

async function fits(page, person, name) {
  const cut = await cuttable(page);
  await open(page, person);
  await viewerIs(page, name);
  await page.evaluate(() => document.fonts.ready.then(() => true));
  await fitsAtEachWidth(page, name, 'Live');
  cut();
  await linkIs(page, 'Reconnecting');
  await fitsAtEachWidth(page, name, 'Reconnecting');
}

// cuttable returns a function that closes the sockets of a page and prevents it from
// reconnecting.
async function cuttable(page) {
  const open = [];
  let down = false;
  await page.routeWebSocket('**/graphql', (socket) => {
    if (down) return socket.close({ code: 1012 });
    open.push(socket, socket.connectToServer());
  });
  return () => {
    down = true;
    for (const socket of open) socket.close({ code: 1012 });
  };
}

async function fitsAtEachWidth(page, name, label) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const { over, fault } = await page.evaluate(misfit);
    assert.ok(over <= 0 && !fault, `at ${width} pixels, seen by ${name}, ${label}: the page is ${over} pixels too wide; ${fault}`);
  }
}

// misfit runs in the page. It returns by how many pixels the page scrolls sideways and the
// cause: the element that protrudes most, preferably a control of the masthead, or a
// control that is covered by another one.
function misfit() {
  const room = document.documentElement.clientWidth;
  const shown = (elements) => [...elements].filter((one) => one.checkVisibility({ visibilityProperty: true })).map((element) => ({ element, box: element.getBoundingClientRect() }));
  const tell = ({ element, box }) =>
    `<${element.localName} class="${element.className}"> “${element.innerText}” from ${box.left.toFixed(1)} to ${box.right.toFixed(1)}`;
  const sticksOut = ({ box }) => Math.max(box.right - room, -box.left);
  const worst = (all) => all.filter((one) => sticksOut(one) > 0.5).sort((a, b) => sticksOut(b) - sticksOut(a))[0];

  const controls = shown(document.querySelectorAll('.masthead :is(a, button)'));
  const over = document.documentElement.scrollWidth - room;
  const outside = worst(controls) ?? (over > 0 ? worst(shown(document.body.querySelectorAll('*'))) : undefined);
  if (outside) return { over, fault: `${tell(outside)} is outside` };
  for (const [n, { box }] of controls.entries()) {
    const covers = controls
      .slice(n + 1)
      .find((other) => Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 0.5 && Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 0.5);
    if (covers) return { over, fault: `${tell(controls[n])} and ${tell(covers)} overlap` };
  }
  return { over, fault: '' };
}
