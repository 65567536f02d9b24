import { createServer } from 'node:http';
import { total } from './prices.js';

/** The port if PORT is not set. */
const defaultPort = 8080;

createServer((_request, response) => response.end(String(total([])))).listen(Number(process.env.PORT) || defaultPort);
