# An optimizer in R, with base R alone, for real parameters: it climbs by random steps from the best point so far. Steps
# grow after a success and shrink after a failure; where they are tiny the climb ends, and another begins at random.
# A request has its keys in a fixed order and no spaces (docs/protocol.md), so that no JSON library is needed.

number <- function(line, name) as.numeric(sub(sprintf('.*"%s":(-?[0-9.eE+-]+).*', name), "\\1", line))

# a list of lists, between two texts: one row each
matrix_of <- function(line, before, after) {
  text <- sub(paste0(".*", before), "", line)
  rows <- strsplit(gsub('"', "", sub(paste0(after, ".*"), "", text)), "],[", fixed = TRUE)[[1]]
  do.call(rbind, lapply(strsplit(rows, ",", fixed = TRUE), as.numeric))
}

warp <- function(x) replace(x, logs, log(x[logs]))

to_unit <- function(x) ifelse(high > low, (warp(x) - low) / (high - low), 0.5)

from_unit <- function(u) {
  x <- low + u * (high - low)
  pmin(pmax(replace(x, logs, exp(x[logs])), ranges[, 1]), ranges[, 2])
}

best <- value <- size <- NULL # of this climb: the best point, in the unit cube, its value, the size of a step

begin <- function() {
  best <<- NULL
  value <<- Inf
  size <<- width
}

suggest <- function() {
  if (is.null(best)) return(from_unit(runif(nrow(ranges))))
  from_unit(pmin(pmax(best + size * rnorm(nrow(ranges)), 0), 1))
}

observe <- function(x, y) {
  if (!is.nan(y) && y < value) { # NaN: the evaluation failed
    size <<- if (is.null(best)) width else min(1, size * growth)
    best <<- to_unit(x)
    value <<- y
  } else {
    size <<- size / growth^0.25
    if (size < 1e-6) begin()
  }
}

input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  call <- sub('.*"call":"([a-z]+)".*', "\\1", line)
  answer <- ""
  if (call == "close") break
  if (call == "hello") answer <- ',"protocol":1,"name":"climb","version":"1","capabilities":{"mixed":false}'
  if (call == "start") {
    lines <- regmatches(line, gregexpr('"space":"[a-z]+","range":\\[[^]]*\\]', line))[[1]]
    logs <- grepl('"space":"log"', lines, fixed = TRUE)
    ranges <- do.call(rbind, lapply(lines, matrix_of, '"range":\\[', "]"))
    low <- warp(ranges[, 1])
    high <- warp(ranges[, 2])
    width <- number(line, "width")
    growth <- number(line, "growth")
    set.seed(number(line, "seed"), kind = "Mersenne-Twister", normal.kind = "Inversion")
    begin()
  }
  if (call == "suggest") {
    points <- replicate(number(line, "n"), paste(sprintf("%.17g", suggest()), collapse = ","))
    answer <- sprintf(',"points":[[%s]]', paste(points, collapse = "],["))
  }
  if (call == "observe") {
    points <- matrix_of(line, '"points":\\[\\[', "]]")
    values <- matrix_of(line, '"values":\\[\\[', "]]")
    for (i in seq_len(nrow(points))) observe(points[i, ], values[i, 1])
  }
  cat('{"id":', number(line, "id"), answer, "}\n", sep = "")
  flush(stdout())
}
