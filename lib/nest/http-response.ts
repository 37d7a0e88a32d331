/** An Express response or a Fastify reply, as far as both are alike. */
export interface HttpResponse {
  readonly headersSent?: boolean;
  /** Fastify's word for an answer that has been given. */
  readonly sent?: boolean;
  /** Fastify: the response of Node below. */
  readonly raw?: { readonly headersSent?: boolean; end(): unknown };
  status(code: number): { send(body: unknown): unknown };
  header(name: string, value: string): unknown;
  end?(): unknown;
}

/** Whether the head of the response has gone out, so that neither status nor headers can be changed. */
export function isHeadSent({ headersSent, sent, raw }: HttpResponse): boolean {
  return headersSent === true || sent === true || raw?.headersSent === true;
}

/** Sets a header, unless the head has gone out. */
export function setHeader(response: HttpResponse, name: string, value: string): void {
  if (!isHeadSent(response)) response.header(name, value);
}

/** Sends a status with a JSON body. After the head has gone out the body can only be cut short. */
export function answer(response: HttpResponse, statusCode: number, body: object): void {
  if (!isHeadSent(response)) response.status(statusCode).send(body);
  else if (response.end === undefined) response.raw?.end();
  else response.end();
}
