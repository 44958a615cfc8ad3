// Parses commit messages with conventional-commits-parser, a pass over all of them for each line on stdin.
//
// The first argument is the file of its code, the second a JSON file with the messages. After each pass the
// seconds it took are printed.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { CommitParser } = await import(pathToFileURL(process.argv[2]));
const messages = JSON.parse(readFileSync(process.argv[3], "utf8"));
const parser = new CommitParser();

for await (const _ of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint();
  for (const message of messages) parser.parse(message);
  console.log(Number(process.hrtime.bigint() - began) / 1e9);
}
