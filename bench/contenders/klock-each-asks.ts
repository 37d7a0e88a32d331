import { klockDriver } from 'klock/client';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

/** The klock driver without hand-over: every waiter stands in the server's queue. */
export const contender: Contender = {
  title: 'klock driver, no hand-over',
  family: 'klock',
  needs: 'klock',
  open: (addresses) => klockClient(klockDriver({ url: addressOf(addresses, 'klock') }), { handover: false }),
};
