// A gateway in front of the two subgraphs.
//
//   PORT=4000 node gateway.mjs
import { createServer } from 'node:http';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { compose } from './compose.mjs';

const gateway = createGatewayRuntime({
  supergraph: await compose(),
  // Ovation identifies the viewer by the client's token.
  propagateHeaders: {
    fromClientToSubgraphs: ({ request, subgraphName }) =>
      subgraphName === 'ovation' ? { authorization: request.headers.get('authorization') } : {},
  },
});

const server = createServer(gateway);
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  console.log(`gateway: http://127.0.0.1:${server.address().port}/graphql`);
});
// The runtime handles these signals, too, so they do not end the process by themselves.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit());
