"""Lies beside the submission, and is imported by it."""


def pick(names, random):
    return names[random.randint(len(names))]
