import { klockDriver } from 'klock/client';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

/** The klock driver as its users have it. */
export const contender: Contender = {
  title: 'klock driver',
  family: 'klock',
  needs: 'klock',
  open: (addresses) => klockClient(klockDriver({ url: addressOf(addresses, 'klock') })),
};
