// Checks a GraphQL endpoint against the GraphQL-over-HTTP specification.
//
//   node check/graphql-http-audit.mjs URL
//
// Prints a line for each audit that is not ok, and a summary as JSON. Exits with 1 if an
// audit ends in a warning or an error, with 2 on invalid usage.
import { serverAudits } from 'graphql-http';

const [url] = process.argv.slice(2);
if (!url || !URL.canParse(url)) {
  console.error('usage: node check/graphql-http-audit.mjs URL, for example http://127.0.0.1:8080/graphql');
  process.exit(2);
}

const count = { ok: 0, notice: 0, warn: 0, error: 0 };
for (const audit of serverAudits({ url })) {
  const result = await run(audit);
  count[result.status]++;
  if (result.status !== 'ok') console.log(`${result.status} ${result.id} ${result.name}: ${result.reason}`);
  await result.response?.body?.cancel().catch(() => {}); // a response that was read is locked
}
console.log(JSON.stringify(count));
process.exitCode = count.warn + count.error > 0 ? 1 : 0;

// run never throws: an audit that could not be run counts as an error.
async function run(audit) {
  try {
    return await audit.fn();
  } catch (error) {
    const reason = error.cause ? `${error.message}: ${error.cause.message}` : error.message;
    return { id: audit.id, name: audit.name, status: 'error', reason };
  }
}
