import type { Stage } from './stage.js';

const JSON_BODY = "-H 'content-type: application/json' -d";

/** What to try by hand while everything runs. */
export function guide(stage: Stage): string {
  const a = stage.a.shop.url;
  const b = stage.b.shop.url;
  return `
Everything stays up until Ctrl-C. What to try:

  put five chairs into the stock, and look at it through the other replica
    curl -s -X PUT ${a}/stock/chair ${JSON_BODY} '{"left":5}'
    curl -s ${b}/stock/chair

  book one; the answer carries the fence of the lock in the header Klock-Fence
    curl -si ${a}/bookings ${JSON_BODY} '{"item":"chair"}'

  a booking that takes ten seconds at one replica; meanwhile the same item waits at the other, another item does not
    curl -s ${a}/bookings ${JSON_BODY} '{"item":"chair","workMs":10000}' &
    curl -s ${a}/bookings/running
    curl -s ${b}/bookings ${JSON_BODY} '{"item":"desk"}'
    curl -s ${b}/bookings ${JSON_BODY} '{"item":"chair"}'

  the same without the lock
    curl -s ${b}/bookings/unlocked ${JSON_BODY} '{"item":"chair"}'
`;
}
