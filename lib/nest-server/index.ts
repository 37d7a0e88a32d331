export { openHostedServer, type HostedServer } from './hosted-server.js';
export { KlockMicroservice, klockMicroservice } from './klock-microservice.js';
