NAME          SMALL
* a comment
OBJSENSE
    MAX
ROWS
 N  PROFIT
 L  LIM1
 G  LIM2
 E  MYEQN
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    X         PROFIT             1.0   LIM1               1.0
    X         LIM2               1.0
    MARKER                 'MARKER'                 'INTEND'
    Y         PROFIT             2.0   LIM1               1.0
    Y         MYEQN             -1.0
    Z         PROFIT            -1.0   MYEQN              1.0
RHS
    RHS       LIM1               4.0   LIM2               1.0
    RHS       MYEQN              7.0   PROFIT            -3.0
RANGES
    RNG       LIM1               2.5
BOUNDS
 UP BND       X                  4.0
 LO BND       Y                 -1.0
 UP BND       Y                  1.0
ENDATA
