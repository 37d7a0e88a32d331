import { klockDriver } from 'klock/client';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

/** The klock driver against a server that knows the six RPCs only. */
export const contender: Contender = {
  title: 'klock driver, six RPCs',
  family: 'klock',
  needs: 'sixRpc',
  open: (addresses) => klockClient(klockDriver({ url: addressOf(addresses, 'sixRpc') })),
};
