import { Client, credentials } from '@grpc/grpc-js';
import { echoService } from '../servers/echo-service.js';
import { addressOf, type Contender } from './contender.js';

/** As many bytes as an acquire of the six RPCs. */
const REQUEST = Buffer.alloc(120, 'x');

/** What two unary calls cost when the server has nothing to do. */
export const contender: Contender = {
  title: 'bare unary echo',
  family: 'bare',
  needs: 'echo',
  open: (addresses) => {
    const client = new Client(addressOf(addresses, 'echo'), credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = echoService.Echo;
    const call = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, REQUEST, (error, reply) =>
          error === null ? resolve(reply) : reject(error),
        );
      });
    return Promise.resolve({
      section: async (_key, held) => {
        await call();
        held();
        await call();
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};
